"""Known mistakes about linear queries and stable answers.

The table is in `tests/central/test_errors_of_queries_and_stability.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from deniable_central.queries import (
    Counts,
    Mwem,
    OnlinePlan,
    SessionDemand,
    SmallDb,
    Workload,
)
from deniable_central.queries.count_data import CountData
from deniable_central.queries.workload import Integers
from deniable_central.samplers.noise import tail
from deniable_central.selection.exponential import Exponential
from deniable_central.selection.privacy_parameters import privacy_parameters
from deniable_central.stability import (
    Proposal,
    StabilityTest,
    Subsample,
    propose_argmax,
    propose_quantile,
)
from support.oracles.central_queries import FOUR_QUERIES, Floats

Rows = tuple[int, ...]
ONE = Fraction(1)


def small_db(kind: type[SmallDb]) -> Callable[[str, Workload], SmallDb]:
    def build(adjacency: str, workload: Workload) -> SmallDb:
        return kind.of(workload, epsilon="2", size=2, adjacency=adjacency)

    return build


class WithoutTheHalf(SmallDb):
    """Weight e^(ε·score), as if ε were a temperature: 2ε-DP."""

    __slots__ = ()

    def _mechanism(self, moves: int) -> Exponential:
        whole = self.privacy
        return Exponential.of(
            privacy_parameters(
                epsilon=whole.epsilon,
                range_sensitivity=self.size * moves,
                adjacency=whole.adjacency.value,
            )
        )


class SensitivityOne(SmallDb):
    """Sensitivity 1, in every unit of the score."""

    __slots__ = ()

    def _mechanism(self, moves: int) -> Exponential:
        whole = self.privacy
        unit = privacy_parameters(
            epsilon=whole.epsilon, sensitivity=1, adjacency=whole.adjacency.value
        )
        return Exponential.of(unit)


class FavoursTheWorst(SmallDb):
    """The score max|…| instead of −max|…|."""

    __slots__ = ()

    def scores(self, data: CountData) -> Integers:
        return -SmallDb.scores(self, data)


def declared_sensitivity(tally: Rows) -> Fraction:
    mechanism = SmallDb.of(
        Workload(np.eye(3, dtype=np.int64)), epsilon="1", size=2, adjacency="add/remove"
    )
    assert mechanism.pmf(Counts(np.array(tally))).outcomes
    return mechanism.privacy.sensitivity


class OffByOne(StabilityTest):
    """D + N ≥ T instead of D + N > T."""

    __slots__ = ()

    def chance(self, distance: int) -> tuple[Fraction, Fraction]:
        return tail(self.epsilon, self.threshold - distance)


class AlwaysDecided(StabilityTest):
    """Released iff D > T: a decision without noise."""

    __slots__ = ()

    def chance(self, distance: int) -> tuple[Fraction, Fraction]:
        return (Fraction(distance > self.threshold),) * 2


def mode_by_whole_gap(rows: Rows) -> Proposal[int]:
    """D = f1 − f2, although one replaced row moves both."""
    counts = np.bincount(rows, minlength=3)
    return propose_argmax(counts, range_sensitivity=1)


def median_of_odd_n(rows: Rows) -> Proposal[int]:
    """D = (n + 1)/2 − max(#<, #>), rounded up for even n."""
    answer = propose_quantile(rows).answer
    assert answer is not None
    sides = sum(row < answer for row in rows), sum(row > answer for row in rows)
    return Proposal(answer, (len(rows) + 2) // 2 - max(sides))


def quantile_without_a_side(rows: Rows) -> Proposal[int]:
    """Only rows that pull the median up are counted."""
    answer = propose_quantile(rows).answer
    assert answer is not None
    return Proposal(answer, len(rows) // 2 + 1 - sum(row > answer for row in rows))


def uniform_convergence_as_misquoted(domain: int, dimension: int, alpha: float) -> int:
    """2(em/d)^d e^(−α²m/8) < 1."""
    m = 1
    while math.log(2) + dimension * math.log(math.e * m / dimension) >= alpha**2 * m / 8:
        m += 1
    return m


def planned_samples(rows: int, size: int, epsilon: str, delta: str) -> float:
    return Subsample.plan(rows=rows, size=size, epsilon=epsilon, delta=delta).samples


PLAN = OnlinePlan(SessionDemand(3, 2, 2), (ONE, ONE, ONE), 2, 1)


class OneForAllUpdates(OnlinePlan):
    """Query noise 2/ε, although c queries may teach."""

    __slots__ = ()

    @property
    def decays(self) -> tuple[Fraction, Fraction, Fraction]:
        first, second, third = super().decays
        return first, second * self.updates, third


class WithoutTheTwo(OnlinePlan):
    """Query noise c/ε, although errors move both ways."""

    __slots__ = ()

    @property
    def decays(self) -> tuple[Fraction, Fraction, Fraction]:
        first, second, third = super().decays
        return first, second * 2, third


class NakedThreshold(OnlinePlan):
    """A threshold without noise, or almost none."""

    __slots__ = ()

    @property
    def decays(self) -> tuple[Fraction, Fraction, Fraction]:
        _, second, third = super().decays
        return Fraction(60), second, third


class NakedAnswers(OnlinePlan):
    """Answers that teach without noise, or almost none."""

    __slots__ = ()

    @property
    def decays(self) -> tuple[Fraction, Fraction, Fraction]:
        first, second, _ = super().decays
        return first, second, Fraction(5)


class RowsMakeItPrivate(OnlinePlan):
    """Noise for shares on counts: private only if one row counted 1/n."""

    __slots__ = ()

    @property
    def decays(self) -> tuple[Fraction, Fraction, Fraction]:
        first, second, third = super().decays
        n = self.demand.rows
        return n * first, n * second, n * third


class NoisePerDimension(Mwem):
    """The scale of the noise divided by the number of values."""

    __slots__ = ()

    def decay(self, data: CountData, query: int) -> Fraction:
        return Mwem.decay(self, data, query) * data.domain


class AllOfEpsilonTwice(Mwem):
    """ε/T for each selection and each measurement, although a round is both."""

    __slots__ = ()

    @property
    def share(self) -> Fraction:
        return self.epsilon / self.rounds


def mutated(kind: type[OnlinePlan]) -> OnlinePlan:
    return kind(PLAN.demand, PLAN.epsilons, PLAN.updates, PLAN.threshold)


MWEM = Mwem.of(Workload(np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1]])), rounds=1, epsilon="2")


def released(tally: Rows) -> Floats:
    data = Counts(np.array(tally))
    return SmallDb.of(FOUR_QUERIES, epsilon="1", size=6).release(data).result.weights
