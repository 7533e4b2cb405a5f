"""Sampled pairs: of each pair of attributes the reports that told of it, and what they support.

A table of two attributes rests on the reports that told of that pair, as if they were all there are
(Hájek). One attribute is told of in m − 1 pairs, whose estimates are pooled by their precision. Of
three together nothing is known. Tally: the P numbers of reports, then for each pair the supports of
its joint codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_estimators.inference.payload_arrays import Payloads, checked_tally, first_round_as
from deniable_estimators.inference.pooled_tables import PooledTable, ReportGroup
from deniable_estimators.inference.tables import IntervalSettings, one_way_tables
from deniable_estimators.mechanisms.one_of_choices import sample_tally_of, supports_of, tally_of
from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.pairs import SampledPairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_estimators.inference.channel import Counts
    from deniable_estimators.inference.debias import Estimate
    from deniable_estimators.inference.sampling import Generator
    from deniable_shared.mechanisms.protocols import Mechanism

_PAIR = 2


@dataclass(frozen=True, slots=True)
class PairsEstimator:
    """The estimator of "pairs/1"."""

    default_projection: ClassVar[str] = "clip"
    estimand: ClassVar[str] = "tables"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def _first_round(self) -> SampledPairs:
        return first_round_as(self.mechanism, SampledPairs, SampledPairs.id)

    @property
    def radices(self) -> tuple[int, ...]:
        """How many labels each attribute has."""
        return self._first_round.radices

    def tally(self, payloads: Payloads) -> Counts:
        return tally_of(payloads, self._first_round)

    def sample_tally(self, values: Counts, people: Counts, draws: Generator) -> Counts:
        """Each choice is told by those who tossed it."""
        return sample_tally_of(self.mechanism, self._first_round, values, people, draws)

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        counts, reports = checked_tally(tally, n, self.mechanism.tally_size)
        supports_of(counts, reports, self._first_round)
        return counts, reports

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
        return one_way_tables(self, tally, n, IntervalSettings(confidence, epochs, family))

    def check(self, axes: Sequence[int]) -> None:
        """ParameterError for more than two attributes."""
        if len(axes) > _PAIR:
            raise ParameterError(
                f"marginal must be of at most 2 attributes, got {len(axes)}: a report of pairs/1 "
                "tells of two"
            )

    def source(self, tally: Counts, n: int, axes: Sequence[int]) -> PooledTable:
        """What is known of one attribute, or of two."""
        counts, reports = self.checked(tally, n)
        self.check(axes)
        return PooledTable(tuple(self._kinds(counts, reports, tuple(axes))))

    def _kinds(self, counts: Counts, n: int, axes: tuple[int, ...]) -> Iterator[ReportGroup]:
        form = self._first_round
        reports, supports = supports_of(counts, n, form)
        for place, (pair, part) in enumerate(zip(form.pairs, supports, strict=True)):
            if set(axes) <= set(pair):
                table = part.reshape(tuple(form.radices[each] for each in pair))
                yield self._kind(place, int(reports[place]), _folded(table, pair, axes))

    def _kind(self, place: int, n: int, supports: Counts) -> ReportGroup:
        choice = self._first_round.choices[place]
        chain = self.mechanism
        kept = chain.keep_probability if isinstance(chain, MemoizedChain) else Fraction(1)
        return ReportGroup(
            n,
            supports,
            choice.domain_size // len(supports),
            JointSupports.of(choice, kept=kept),  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property
            JointSupports.of(choice) if isinstance(chain, MemoizedChain) else None,  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property
            self._first_round.sampling_fraction,
        )


def _folded(table: Counts, pair: tuple[int, int], axes: tuple[int, ...]) -> Counts:
    """The table of a pair as the cells of `axes` in their order, the others summed over."""
    if len(axes) == 1:
        return np.asarray(table.sum(axis=1 - pair.index(axes[0])))
    return (table if axes == pair else table.T).reshape(-1)
