"""Questions about a record whose reports contain a table of it: `joint_readings.JointReading`.

    a question     0 or 1 for each combination; it must follow from the attributes of one table
    φ              Σ of the public scores of its cells                    unbiased, 0044
    raw answer     w·tally + ⌊n·U·offset⌉,  w = ⌊U·φ⌉ in integers         mean n·U·share
    one report     moves it by the range of w over all possible messages

U is a power of two that follows from n. The rounded weights of a report are off by at most half a
unit for each count that it adds to; this, and half a unit of the offset, is a part of τ.
E[φ² | x] depends on how many cells a question has and on whether x is in one of them, as attributes
of pairs treat all codes alike, and parities add up by Parseval. So the first s cells of each table,
for every s, have the largest range and the largest variance of any question.
Source: docs/mathematics/releases-over-sums.md, Questions about tables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable_aggregator.releases.kinds.tally_spaces import (
    PartMessages,
    TallySpace,
    tally_space_of,
)
from deniable_estimators.inference.payload_arrays import first_round
from deniable_estimators.inference.public_scores import Ceiling
from deniable_estimators.mechanisms import estimator_for
from deniable_estimators.simulation import generator, simulated_tally
from deniable_shared.domains import Record
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext, Tallies
    from deniable_aggregator.releases.kinds.error_simulation import Population
    from deniable_aggregator.releases.kinds.norms import Matrix
    from deniable_estimators.inference.channel import Floats
    from deniable_estimators.inference.public_scores import PublicScores
    from deniable_shared.randomness.coins import Coins

MOST_COMBINATIONS = 1 << 16
MOST_CELLS = 1024
_FINEST = 24
_EXACT = 50
_SIMULATED = 2_000
Axes = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class TableQuestions:
    """The questions that reports of tables answer, over a release's context. Built by `of`."""

    context: ReleaseContext
    domain: Record
    estimator: Any  # of the mechanism, with `PublicTables`
    space: TallySpace
    gain: Fraction
    _kept: dict[Axes, PublicScores] = field(default_factory=dict)

    @classmethod
    def of(cls, context: ReleaseContext, rows: int = 1) -> TableQuestions:
        """Raw answers times `rows` are exact in a float. Raises ParameterError if too large."""
        domain = context.domain
        if not isinstance(domain, Record):
            raise ParameterError(f"{context.mechanism.id} needs answers that are records")
        if domain.size > MOST_COMBINATIONS:
            raise ParameterError(
                f"a record must have at most {MOST_COMBINATIONS:,} combinations of labels for "
                f"questions to all of them, got {domain.size:,}: use table"
            )
        estimator: Any = estimator_for(context.mechanism, context.repeat)
        draft = cls(context, domain, estimator, tally_space_of(context.mechanism), Fraction(1))
        widest = math.frexp(max(draft.widest(axes) for axes in draft.tables()))[1]
        spare = _EXACT - widest - (context.n * rows).bit_length()
        return replace(draft, gain=Fraction(2) ** min(_FINEST - widest, spare))

    def tables(self) -> Iterator[Axes]:
        """The attributes of every table, the smallest tables first."""
        for ways in range(1, self._ways + 1):
            for axes in combinations(range(len(self.domain.radices)), ways):
                if self._cells(axes) > MOST_CELLS:
                    names = ", ".join(self._names(axes))
                    raise ParameterError(
                        f"tables must have at most {MOST_CELLS:,} cells for questions, that of "
                        f"{names} has {self._cells(axes):,}: use table"
                    )
                yield axes

    @property
    def _ways(self) -> int:
        """The most attributes of a table."""
        ways = 1
        for more in range(2, len(self.domain.radices) + 1):
            try:
                self.estimator.check(range(more))
            except ParameterError:
                break
            ways = more
        return ways

    def widest(self, axes: Axes) -> float:
        """The range of φ of a question about this table, for the widest one."""
        ends = np.cumsum(self._scores(axes).weights, axis=0)
        return float(self.space.row_ranges(ends).max())  # type: ignore[arg-type]  # floats do

    def variances(self, axes: Axes) -> Floats:
        """n·Var of a question with 0, 1 … cells of this table, for any people: float64[cells + 1].

        Of T reports a device it is V + (T − 1)·S, S of what its reports have in common.
        """
        own = self._largest(axes, permanent=False)
        if self.reports == 1:
            return own
        common = np.full(len(own), 0.25)
        if first_round(self.context.mechanism) is not self.context.mechanism:
            common = self._largest(axes, permanent=True)
        return np.asarray(own + (self.reports - 1) * np.minimum(own, common))

    def _largest(self, axes: Axes, *, permanent: bool) -> Floats:
        cells = self._cells(axes)
        one = np.zeros(cells)
        one[0] = 1.0
        squares = self.estimator.public_covariance(axes, one, permanent=permanent)
        squares[0, 0] += 1.0
        inside = squares.cumsum(axis=0).cumsum(axis=1).diagonal()
        outside = squares[::-1, ::-1].cumsum(axis=0).cumsum(axis=1).diagonal()
        some = [Ceiling.between(*ends).largest for ends in zip(outside, inside, strict=True)]
        some[-1] = max(float(inside[-1]) - 1.0, 0.0)  # every person is in one of all the cells
        return np.array([0.0, *some])

    @property
    def reports(self) -> int:
        """T: the most reports of one device, one an epoch."""
        return 1 if self.context.repeat == "once" else len(self.context.epochs)

    def counts(self, tallies: Tallies) -> TableCounts:
        return TableCounts(self, tallies.counts)

    def moves(self, queries: Counts) -> int:
        return int(self.space.row_ranges(self.weights(queries)[0]).max())

    def local_error(self, queries: Counts, *, beta: float) -> float:
        """τ as a share; may be above 1."""
        variance = max(
            float(self.variances(axes)[int(cells.sum())]) if axes else 0.0
            for axes, cells in map(self._question, queries)
        )
        width = self.moves(queries) / float(self.gain)
        return self._off(variance, width, math.log(2 * len(queries) / beta))

    def of_any_question(self, *, beta: float) -> tuple[int, float]:
        """Δ and τ of all questions at once."""
        moves, variance, sets = 0, 0.0, 0
        for axes in self.tables():
            ends = np.rint(np.cumsum(self._scores(axes).weights, axis=0) * float(self.gain))
            moves = max(moves, int(self.space.row_ranges(ends.astype(np.int64)).max()))
            variance = max(variance, float(self.variances(axes).max()))
            sets += 1 << self._cells(axes)
        moves += 2 * self._counts + 1  # other questions are rounded otherwise
        width = moves / float(self.gain)
        return moves, self._off(variance, width, math.log(2 * sets) - math.log(beta))

    @property
    def deviation(self) -> float:
        """The standard error of a question, by the devices' noise, where it is largest."""
        largest = max(float(self.variances(axes).max()) for axes in self.tables())
        return math.sqrt(largest / self.context.n)

    def _off(self, variance: float, width: float, log: float) -> float:
        """Bernstein or Hoeffding, the lesser, and the rounding."""
        n, together = self.context.n, self.reports
        step = together * width * log / 3
        far = min(
            width * math.sqrt(n * together * log / 2),
            step + math.sqrt(step**2 + 2 * n * variance * log),
        )
        return far / n + (self._counts + 1 / n) / (2 * float(self.gain))

    @property
    def _counts(self) -> int:
        """The most counts of the tally that one report adds to."""
        if isinstance(self.space, PartMessages):
            return 1 + max(part.support_size for part in self.space.parts)
        return 1

    def simulator(self, queries: Counts, runs: int, coins: Coins) -> Callable[[Population], Floats]:
        """Draws raw answers, float64[runs, queries], of at most 2,000 reports, and scales up."""
        weights, offsets = self.weights(queries)
        some = min(self.context.n, _SIMULATED)
        scale = math.sqrt(self.reports * self.context.n / some)
        seed = int.from_bytes(coins.bytes(16), "big")

        def answers(people: Population) -> Floats:
            draws, unit = generator(seed), float(self.gain)
            drawn = np.empty((runs, len(queries)))
            for run in range(runs):
                sent = draws.multinomial(some, people.shares)
                values = np.flatnonzero(sent)
                tally = simulated_tally(self.context.mechanism, values, sent[values], draws=draws)
                drawn[run] = weights @ tally + offsets * (some / self.context.n)
            means = queries @ people.shares * unit
            return np.asarray(means * self.context.n + (drawn - means * some) * scale)

        return answers

    def random_questions(self, uniforms: Floats) -> Counts:
        """Questions with half of the cells of one table each, from float64[count, combinations]."""
        tables = [*self.tables()]
        largest = [axes for axes in tables if len(axes) == len(tables[-1])]
        rows = np.zeros(uniforms.shape, dtype=np.int64)
        for place, chances in enumerate(uniforms):
            axes = largest[int(chances[0] * len(largest))]
            cells = chances[-self._cells(axes) :] < 0.5
            rows[place] = cells[self._cell_of(axes)]
        return rows

    def weights(self, queries: Counts) -> tuple[Matrix, Counts]:
        """Integer weights over the tally and offsets. Raises ParameterError for other questions."""
        unit, n = float(self.gain), self.context.n
        matrix = np.zeros((len(queries), self.context.mechanism.tally_size), dtype=np.int64)
        offsets = np.zeros(len(queries), dtype=np.int64)
        for place, row in enumerate(queries):
            axes, cells = self._question(row)
            if not axes:
                offsets[place] = round(n * unit * int(cells[0]))
                continue
            scores = self._scores(axes)
            matrix[place] = np.rint(cells @ scores.weights * unit)
            offsets[place] = round(n * unit * float(cells @ scores.offset))
        return matrix, offsets

    def _question(self, row: Counts) -> tuple[Axes, Counts]:
        """The attributes that a question is about, and 0 or 1 for each cell of their table."""
        cube = row.reshape(self.domain.radices)
        axes = tuple(
            axis for axis in range(cube.ndim) if (cube != np.take(cube, [0], axis=axis)).any()
        )
        if len(axes) > self._ways:
            raise ParameterError(
                f"a question must be about at most {self._ways} attributes, got one about "
                f"{', '.join(self._names(axes))}: a report of {self.context.mechanism.id} says "
                f"nothing about more of them together"
            )
        first = tuple(slice(None) if axis in axes else 0 for axis in range(cube.ndim))
        return axes, cube[first].reshape(-1)

    def _scores(self, axes: Axes) -> PublicScores:
        if axes not in self._kept:
            self._kept[axes] = self.estimator.public_tables(axes)
        return self._kept[axes]

    def _cells(self, axes: Axes) -> int:
        return math.prod(self.domain.radices[axis] for axis in axes)

    def _cell_of(self, axes: Axes) -> Counts:
        """The cell of each combination."""
        places = np.unravel_index(np.arange(self.domain.size), self.domain.radices)
        sizes = [self.domain.radices[axis] for axis in axes]
        return np.asarray(np.ravel_multi_index([places[axis] for axis in axes], sizes))

    def _names(self, axes: Sequence[int]) -> list[str]:
        return [self.domain.topics[axis] for axis in axes]


@dataclass(frozen=True, slots=True, eq=False)
class TableCounts:
    """n reports of tables, for linear queries: `queries.CountData`."""

    questions: TableQuestions
    tally: Counts

    @property
    def rows(self) -> int:
        return self.questions.context.n

    @property
    def domain(self) -> int:
        return self.questions.domain.size

    @property
    def gain(self) -> Fraction:
        return self.questions.gain

    @property
    def fingerprint(self) -> bytes:
        return sha256(b"%d\n" % self.rows + self.tally.astype("<i8").tobytes()).digest()

    def observe(self, queries: Counts) -> Counts:
        weights, offsets = self.questions.weights(queries)
        observed: Counts = weights @ self.tally + offsets
        return observed

    def sensitivity(self, queries: Counts) -> int:
        return self.questions.moves(queries)
