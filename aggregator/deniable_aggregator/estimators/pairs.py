"""Sampled pairs: of each pair of attributes the reports that told of it, and what they support.

A table of two attributes rests on the reports that told of that pair, as if they were all there are
(Hájek). One attribute is told of in m − 1 pairs, whose estimates are pooled by their precision. Of
three together nothing is known. Tally: the P numbers of reports, then for each pair the supports of
its joint codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deniable_aggregator.estimate import Estimate
from deniable_aggregator.estimate.channel import Counts
from deniable_aggregator.estimate.sources import Kind, Pooled
from deniable_aggregator.estimate.tables import Settings, one_way
from deniable_aggregator.estimators.contract import Payloads, checked_payloads, checked_tally
from deniable_aggregator.estimators.subset import SubsetEstimator
from deniable_shared.chains import Renewed
from deniable_shared.domain import bytes_for
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.joint_supports import JointSupports
from deniable_shared.mechanisms.contract import Mechanism
from deniable_shared.mechanisms.pairs import SampledPairs

__all__ = ["PairsEstimator"]

_PAIR = 2


@dataclass(frozen=True, slots=True)
class PairsEstimator:
    """The estimator of "pairs/1"."""

    default_projection: ClassVar[str] = "clip"
    tells: ClassVar[str] = "tables"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def _form(self) -> SampledPairs:
        first = self.mechanism.first if isinstance(self.mechanism, Renewed) else self.mechanism
        if not isinstance(first, SampledPairs):
            raise ParameterError(f"mechanism must be pairs/1, got {self.mechanism.id}")
        return first

    @property
    def radices(self) -> tuple[int, ...]:
        """How many labels each attribute has."""
        return self._form.radices

    def tally(self, payloads: Payloads) -> Counts:
        rows, form = checked_payloads(payloads, self.mechanism.payload_size), self._form
        head = bytes_for(len(form.pairs))
        places = np.zeros(len(rows), dtype=np.int64)
        for column in rows[:, :head].T:
            places = places << 8 | column
        if places.size and places.max() >= len(form.pairs):
            raise DecodeError(f"payloads must name pairs below {len(form.pairs)}")
        told = np.bincount(places, minlength=len(form.pairs))
        grouped = rows[np.argsort(places, kind="stable"), head:]
        ends = np.cumsum(told)
        parts = [
            SubsetEstimator(choice).tally(grouped[end - n : end, : choice.payload_size])
            for choice, n, end in zip(form.choices, told.tolist(), ends.tolist(), strict=True)
        ]
        return np.concatenate([told, *parts])

    def supports(self, tallies: Counts) -> Counts:
        """(…, 0): what is supported are joint codes of pairs, not combinations."""
        return tallies[..., :0]

    def estimate(
        self,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
        family: str = "each",
    ) -> Estimate:
        """The labels of each attribute, one attribute after the other."""
        return one_way(self, tally, n, Settings(confidence, epochs, family))

    def check(self, axes: Sequence[int]) -> None:
        """ParameterError for more than two attributes."""
        if len(axes) > _PAIR:
            raise ParameterError(
                f"marginal must be of at most 2 attributes, got {len(axes)}: a report of pairs/1 "
                "tells of two"
            )

    def source(self, tally: Counts, n: int, axes: Sequence[int]) -> Pooled:
        """What is known of one attribute, or of two."""
        counts, reports = checked_tally(tally, n, self.mechanism.tally_size)
        form = self._form
        if counts[: len(form.pairs)].sum() != reports:
            raise ParameterError(f"tally must tell of one pair in each of n = {reports} reports")
        self.check(axes)
        return Pooled(tuple(self._kinds(counts, tuple(axes))))

    def _kinds(self, counts: Counts, axes: tuple[int, ...]) -> Iterator[Kind]:
        form = self._form
        start = len(form.pairs)
        for place, (pair, choice) in enumerate(zip(form.pairs, form.choices, strict=True)):
            end = start + choice.domain_size
            if set(axes) <= set(pair):
                shape = tuple(form.radices[each] for each in pair)
                table = counts[start:end].reshape(shape)
                yield self._kind(place, int(counts[place]), _folded(table, pair, axes))
            start = end

    def _kind(self, place: int, n: int, supports: Counts) -> Kind:
        choice = self._form.choices[place]
        if n * choice.subset_size != supports.sum():
            raise ParameterError(
                f"tally must hold {choice.subset_size} joint codes for each of {n} reports"
            )
        chain = self.mechanism
        kept = chain.kept if isinstance(chain, Renewed) else Fraction(1)
        return Kind(
            n,
            supports,
            choice.domain_size // len(supports),
            JointSupports.of(choice, kept=kept),
            JointSupports.of(choice) if isinstance(chain, Renewed) else None,
            self._form.told,
        )


def _folded(table: Counts, pair: tuple[int, int], axes: tuple[int, ...]) -> Counts:
    """The table of a pair as the cells of `axes` in their order, the others summed over."""
    if len(axes) == 1:
        return np.asarray(table.sum(axis=1 - pair.index(axes[0])))
    return (table if axes == pair else table.T).reshape(-1)
