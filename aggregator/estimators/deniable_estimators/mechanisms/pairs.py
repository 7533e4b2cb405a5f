"""Sampled pairs: the reports about each pair of attributes, and what they support.

A table of two attributes uses only the reports about that pair (Hájek). One attribute is in m − 1
pairs, whose estimates are pooled by their precision. Nothing is known about three attributes
together. Tally: the P numbers of reports, then for each pair the supports of its joint codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_estimators.inference.payload_arrays import first_round_as
from deniable_estimators.inference.pooled_tables import PooledTable, ReportGroup
from deniable_estimators.inference.public_scores import Ceiling, PublicScores
from deniable_estimators.inference.set_squares import SetSquares
from deniable_estimators.inference.tables import OneWayTables
from deniable_estimators.mechanisms.one_of_choices import OneOfChoicesTally, supports_of
from deniable_shared.analysis.joint_supports import JointSupports
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.pairs import SampledPairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_shared.mechanisms.protocols import Mechanism

_PAIR = 2


@dataclass(frozen=True, slots=True)
class PairsEstimator(OneWayTables, OneOfChoicesTally):
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
        """The number of labels of each attribute."""
        return self._first_round.radices

    def check(self, axes: Sequence[int]) -> None:
        """Raises ParameterError for more than two attributes."""
        if len(axes) > _PAIR:
            raise ParameterError(
                f"a table must be of at most 2 attributes, got {len(axes)}: a report of pairs/1 "
                "has two"
            )

    def public_tables(self, axes: Sequence[int]) -> PublicScores:
        """See `PublicTables`: each pair has P times the weight of its reports.

        Reports about one attribute are pooled by their noise, which is public.
        """
        self.check(axes)
        parts = [*self._cell_sums(tuple(axes), self._kept)]
        times = self._times(parts)
        cells = len(parts[0].cells)
        weights = np.zeros((cells, self.mechanism.tally_size))
        for part, each in zip(parts, times.tolist(), strict=True):
            part.add(weights, each)
        ends = np.array([part.ends for part in parts]) * times[:, None]
        return PublicScores(
            weights,
            np.zeros(cells),
            np.full(cells, min(0.0, ends.min())),
            np.full(cells, max(0.0, ends.max())),
            (self._ceiling(parts, times),) * cells,
            permanent=(self._ceiling([*self._cell_sums(tuple(axes))], times),) * cells,
        )

    def public_covariance(
        self, axes: Sequence[int], frequencies: Floats, *, permanent: bool = False
    ) -> Floats:
        """See `PublicTables`: a report is about each pair with chance 1/P."""
        parts = [*self._cell_sums(tuple(axes), self._kept)]
        laws = parts if not permanent else [*self._cell_sums(tuple(axes))]
        both = np.outer(frequencies, frequencies)
        square = np.zeros_like(both)
        for times, part in zip(self._times(parts).tolist(), laws, strict=True):
            size = part.cells.shape[1]
            once = ReportGroup(1, part.cells[:, 0], size, part.law).covariance(frequencies, 1)
            square += times**2 * (once + both)
        covariance: Floats = square / len(self._first_round.pairs) - both
        return covariance

    @property
    def _kept(self) -> Fraction:
        """Return the chance that a report keeps a permanent answer; 1 without a chain."""
        chain = self.mechanism
        return chain.keep_probability if isinstance(chain, MemoizedChain) else Fraction(1)

    def _times(self, parts: Sequence[CellSum]) -> Floats:
        """Return the weights of each pair's reports: P of one pair, pooled by precision if more."""
        precisions = np.array([1 / float(part.squares.constant[0]) for part in parts])
        return np.asarray(len(self._first_round.pairs) * precisions / precisions.sum())

    def _ceiling(self, parts: Sequence[CellSum], times: Floats) -> Ceiling:
        """Return H of a cell in which each pair has `times` the weight of its reports."""
        moments = np.array([part.moments for part in parts])
        none, every = (times**2 @ moments / len(self._first_round.pairs)).tolist()
        return Ceiling.between(none, every)

    def _cell_sums(self, axes: tuple[int, ...], kept: Fraction = Fraction(1)) -> Iterator[CellSum]:
        """Yield the codes of every cell, for each pair that has these attributes."""
        form = self._first_round
        start = len(form.pairs)
        for place, (pair, choice) in enumerate(zip(form.pairs, form.choices, strict=True)):
            if set(axes) <= set(pair):
                codes = start + np.arange(choice.domain_size)
                table = codes.reshape(tuple(form.radices[each] for each in pair))
                moved = [pair.index(axis) for axis in axes]
                cells = np.moveaxis(table, moved, range(len(axes)))
                sizes = [form.radices[axis] for axis in axes]
                law = JointSupports.of(choice, kept=kept)  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property
                yield CellSum(place, cells.reshape(int(np.prod(sizes)), -1), law)
            start += choice.domain_size

    def source(self, tally: Counts, n: int, axes: Sequence[int]) -> PooledTable:
        """Return the table of one or two attributes."""
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
        return ReportGroup(
            n,
            supports,
            choice.domain_size // len(supports),
            JointSupports.of(choice, kept=self._kept),  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property
            JointSupports.of(choice) if isinstance(chain, MemoizedChain) else None,  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property
            self._first_round.sampling_fraction,
        )


@dataclass(frozen=True, slots=True, eq=False)
class CellSum:
    """The scores of one pair's reports for each cell: `cells`, [cells, codes], by tally place."""

    place: int
    cells: Counts
    law: JointSupports

    @property
    def squares(self) -> SetSquares:
        """Return E[s² | x] of s codes as one."""
        size = np.array([float(self.cells.shape[1])])
        return SetSquares.of(self.law, size, size)

    @property
    def moments(self) -> tuple[float, float]:
        """Return E[s² | x] for an answer in another cell, and in this one."""
        none, one = self.squares.of_each(np.array([[0.0, 1.0]]))[0].tolist()
        return none, one

    @property
    def ends(self) -> tuple[float, float]:
        """Return the least and the largest score of a report."""
        size, gap = self.cells.shape[1], float(self.law.gap)
        least = -size * float(self.law.q) / gap
        return least, least + min(size, self.law.max_support) / gap

    def add(self, weights: Floats, times: float) -> None:
        """Add its weights to [cells, counts of the tally]."""
        size, gap = self.cells.shape[1], float(self.law.gap)
        weights[:, self.place] -= times * size * float(self.law.q) / gap
        rows = np.arange(len(self.cells))[:, None]
        weights[rows, self.cells] += times / gap


def _folded(table: Counts, pair: tuple[int, int], axes: tuple[int, ...]) -> Counts:
    """Return the table of a pair as the cells of `axes` in their order, the others summed over."""
    if len(axes) == 1:
        return np.asarray(table.sum(axis=1 - pair.index(axes[0])))
    return (table if axes == pair else table.T).reshape(-1)
