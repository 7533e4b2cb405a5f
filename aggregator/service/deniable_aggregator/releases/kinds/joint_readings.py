"""What questions over all combinations of labels read: supports of labels, or tables of a record.

`queries`, `mwem` and `small-db` ask for the share of people with one of some labels. Their counts
are `central.queries.CountData`; this is everything else about them that follows from public facts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deniable_aggregator.releases.kinds.error_simulation import label_noise
from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_aggregator.releases.kinds.message_spaces import estimand_of, message_space_of
from deniable_aggregator.releases.kinds.randomized_counts import (
    RandomizedCounts,
    check_joint,
    check_rows,
    local_error,
    workload_sensitivity,
)
from deniable_aggregator.releases.kinds.table_questions import TableQuestions

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext, Tallies
    from deniable_aggregator.releases.kinds.error_simulation import Population
    from deniable_central.queries.count_data import CountData
    from deniable_estimators.inference.channel import Floats
    from deniable_shared.randomness.coins import Coins


class JointReading(Protocol):
    """Answers to 0/1 queries, int64[queries, combinations]. None of this reads a tally."""

    @property
    def gain(self) -> Fraction:
        """What one person with a label of a query adds to its raw answer on average."""

    @property
    def deviation(self) -> float:
        """The standard error of a wide query, as a share, from the devices' noise."""

    def counts(self, tallies: Tallies) -> CountData:
        """The counts that the mechanisms of `central.queries` ask."""

    def moves(self, queries: Counts) -> int:
        """Δ: how far one report moves the raw answer of any of these queries.

        Raises ParameterError for queries that the reports do not answer.
        """

    def local_error(self, queries: Counts, *, beta: float) -> float:
        """τ as a share, for these queries at once; may be above 1."""

    def of_any_question(self, *, beta: float) -> tuple[int, float]:
        """Δ and τ of all possible queries at once."""

    def simulator(self, queries: Counts, runs: int, coins: Coins) -> Callable[[Population], Floats]:
        """Draws raw answers of simulated people: float64[runs, queries]."""

    def random_questions(self, uniforms: Floats) -> Counts:
        """Queries that may be asked, from float64[count, combinations] in (0, 1)."""


@dataclass(frozen=True, slots=True)
class LabelReading:
    """The reading of reports that support labels."""

    context: ReleaseContext

    @property
    def gain(self) -> Fraction:
        return self.context.mechanism.p - self.context.mechanism.q

    @property
    def deviation(self) -> float:
        """Of a query of half the labels."""
        label_counts, labels = LabelCounts.of(self.context), self.context.domain.size
        of_label = float(label_counts.variance(np.array([1 / labels]))[0])
        return math.sqrt(of_label * labels / 4) / float(self.context.n * label_counts.gain)

    def counts(self, tallies: Tallies) -> RandomizedCounts:
        return RandomizedCounts.of(self.context, tallies)

    def moves(self, queries: Counts) -> int:
        return workload_sensitivity(self.context.mechanism, queries)

    def local_error(self, queries: Counts, *, beta: float) -> float:
        moves = max(1, self.moves(queries))
        return local_error(self.context, queries=len(queries), beta=beta, moves=moves)

    def of_any_question(self, *, beta: float) -> tuple[int, float]:
        """A query and its complement err alike, so half of all sets are counted."""
        moves = message_space_of(self.context.mechanism).label_sensitivity.sets
        sets = 1 << (self.context.domain.size - 1)
        return moves, local_error(self.context, queries=sets, beta=beta, moves=moves)

    def simulator(self, queries: Counts, runs: int, coins: Coins) -> Callable[[Population], Floats]:
        label_counts = LabelCounts.of(self.context)
        noise, columns = label_noise(self.context, runs, coins), queries.T.astype(np.float64)
        return lambda people: np.asarray(people.signals(label_counts, noise) @ columns)

    def random_questions(self, uniforms: Floats) -> Counts:
        """Each label in half of them."""
        return np.asarray(uniforms < 0.5, dtype=np.int64)


def joint_reading_of(kind: str, context: ReleaseContext, *, rows: int = 1) -> JointReading:
    """The reading of a context. Raises ParameterError if the reports have none.

    rows: raw answers times this number stay exact in a float.
    """
    if estimand_of(context.mechanism) == "tables":
        check_rows(kind, context)
        return TableQuestions.of(context, rows)
    check_joint(kind, context)
    return LabelReading(context)
