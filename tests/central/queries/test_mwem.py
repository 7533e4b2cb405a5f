"""MWEM: its law from the definition, privacy by enumeration, error bars, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable_central.pmf import Pmf
from deniable_central.queries import (
    Counts,
    CountsError,
    Measurement,
    Mwem,
    SmallDb,
    Workload,
    mwem,
    points,
)
from deniable_central.queries.mwem import WeightUpdates
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins
from support.oracles.central_queries import FOUR_QUERIES, FRACTIONS, Tally, error, exchanged_tallies
from support.oracles.mwem_pmf import mwem_pmf
from support.oracles.neighbour_pmfs import (
    check_epsilon_is_exact,
    check_pure,
)
from support.oracles.selection_checks import check_follows
from support.tiers import grid

History = tuple[Measurement, ...]
RANDOM = Workload(
    np.array([[(7 * i * i + 3 * v * i + v) % 5 < 2 for v in range(8)] for i in range(20)])
)


def law(mechanism: Mwem, tally: Tally, reach: int) -> Pmf[History]:
    return mwem_pmf(mechanism, Counts(np.array(tally)), reach=reach)


@pytest.mark.slow
@pytest.mark.parametrize("workload", [FOUR_QUERIES, FRACTIONS])
@pytest.mark.parametrize("epsilon", grid(["1", "6"], by_default=["6"]))
def test_one_round_on_small_data_leaks_at_most_epsilon(workload: Workload, epsilon: str) -> None:
    mechanism = Mwem.of(workload, rounds=1, epsilon=epsilon)
    pairs = exchanged_tallies(3, [1, 2, 4])
    check_pure(lambda t: law(mechanism, t, 8), pairs, mechanism.guarantee)


@pytest.mark.slow
def test_two_rounds_on_small_data_leak_at_most_epsilon() -> None:
    mechanism = Mwem.of(FOUR_QUERIES, rounds=2, epsilon="3")
    pairs = exchanged_tallies(3, [2])
    check_pure(lambda t: law(mechanism, t, 3), pairs, mechanism.guarantee)


def test_epsilon_is_reached_so_no_noise_is_wasted() -> None:
    """Of two queries the worse one gets better and the other worse, and is measured below."""
    workload = Workload(np.array([[1, 1, 0, 0], [1, 0, 1, 0]]))
    mechanism = Mwem.of(workload, rounds=1, epsilon="2")
    pairs = [((70, 20, 0, 30), (70, 19, 1, 30))]
    check_epsilon_is_exact(lambda t: law(mechanism, t, 9), pairs, mechanism.guarantee)


def test_rounds_share_epsilon_and_cost_less_in_zcdp() -> None:
    one, ten = (Mwem.of(points(4), rounds=rounds, epsilon="2") for rounds in (1, 10))
    assert one.guarantee.epsilon == ten.guarantee.epsilon == 2
    assert ten.share == Fraction(1, 10)
    assert ten.guarantee.rho is not None
    assert float(ten.guarantee.rho) == pytest.approx(
        10 * (0.1**2 / 8 + 0.1 * math.tanh(0.05)), rel=0.01
    )


@pytest.mark.statistical
def test_draws_follow_the_law() -> None:
    """3,000 draws of one round, chi-square at 10^−6; noise beyond 60 is less than one in 10^12."""
    mechanism, data = Mwem.of(FOUR_QUERIES, rounds=1, epsilon="1"), Counts(np.array([9, 1, 4]))
    coins = Coins.system()
    check_follows(
        lambda: mechanism.release(data, coins).result.measurements,
        mwem_pmf(mechanism, data, reach=60),
        draws=3_000,
    )


def test_the_weights_are_a_function_of_the_measurements() -> None:
    data = Counts(np.array([50, 10, 30]))
    synthesis = mwem(data, FOUR_QUERIES, epsilon="4", rounds=5).result
    course = WeightUpdates(FOUR_QUERIES, 90)
    for measured in synthesis.measurements:
        course.follow(measured)
    assert course.mean.tolist() == synthesis.weights.tolist()
    assert synthesis.weights.sum() == pytest.approx(1)


def test_a_step_towards_the_truth_lowers_the_divergence_by_its_bound() -> None:
    """RE(D‖w) falls by 2r² at least when the measurement is exact, for every query."""
    truth = np.array([0.7, 0.1, 0.2])
    for query in range(4):
        course = WeightUpdates(FOUR_QUERIES, 1e6)
        share = float(FOUR_QUERIES.matrix[query] @ truth)
        miss = share - float(FOUR_QUERIES.matrix[query].sum()) / 3
        course.follow(Measurement(query, round(share * 1e6)))
        after = course.mean * 2 - 1 / 3
        before = float(truth @ np.log(truth * 3))
        assert before - float(truth @ np.log(truth / after)) >= 2 * miss**2 - 1e-9


@pytest.mark.statistical
def test_the_error_is_within_its_bar() -> None:
    """60 releases, each outside with probability ≤ 0.05: 15 or more outside is below 10^−6."""
    tally = (300, 0, 500, 100, 2000, 50, 40, 10)
    outside = 0
    for _ in range(60):
        release = mwem(Counts(np.array(tally)), RANDOM, epsilon="8")
        upper = release.error_bars[0].upper
        assert upper is not None
        assert upper < 0.5
        outside += error(RANDOM, tally, release.result.weights) > upper
    assert outside < 15


@pytest.mark.statistical
def test_twenty_rounds_beat_a_small_database_over_sixteen_values() -> None:
    """40 runs of 0.021 ± 0.006 against an exact mean of 0.083: sixty standard errors apart."""
    rows = [[(5 * i * i + 11 * i * v + 3 * v * v) % 7 < 3 for v in range(16)] for i in range(20)]
    workload, tally = Workload(np.array(rows)), np.array([*[20] * 8, *[230] * 8])
    small = SmallDb.of(workload, epsilon="1", size=6)
    errors = -small.scores(Counts(tally)) / (2000 * 6)
    weights = np.exp(-(errors - errors.min()) * 2000 / 2)
    expected = float((weights * errors).sum() / weights.sum())
    released = [
        error(
            workload,
            tally.tolist(),
            mwem(Counts(tally), workload, epsilon="1", rounds=20).result.weights,
        )
        for _ in range(40)
    ]
    assert float(np.mean(released)) < expected


def test_much_data_is_answered_closely_and_no_data_is_refused() -> None:
    tally = tuple(c * 10_000 for c in (3, 0, 5, 1, 20, 2, 1, 0))
    release = mwem(Counts(np.array(tally)), RANDOM, epsilon="8", rounds=60)
    assert error(RANDOM, tally, release.result.weights) < 0.1
    with pytest.raises(CountsError, match="at least 1 row"):
        mwem(Counts(np.zeros(8, dtype=int)), RANDOM, epsilon="1")


def test_rounds_and_domains_out_of_range_are_refused() -> None:
    for rounds in (0, 1001):
        with pytest.raises(ParameterError, match=r"rounds must lie in \[1, 1,000\]"):
            Mwem.of(RANDOM, rounds=rounds, epsilon="1")
    with pytest.raises(CountsError, match="over the queries' 8 values, got 3"):
        mwem(Counts(np.array([1, 1, 1])), RANDOM, epsilon="1", rounds=2)
