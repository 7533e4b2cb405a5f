"""Allocation under local privacy: one randomized answer of every buyer, a cohort a round.

Worths are uniform on [0, 1], supply of each of five goods a tenth of the buyers, ε = 2, 100 rounds.
Measured, as mean and standard deviation of welfare over the best and of over-demand over supply:

      3,000   0.973  ± 0.040   6.8%  ± 3.2%     400 runs
     30,000   0.996  ± 0.014   2.1%  ± 1.1%     120 runs
    300,000   0.9996 ± 0.0050  0.62% ± 0.31%     24 runs

Limits below are at least seven standard deviations away: false alarms stay under 10^−6.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from deniable_central.auctions import (
    LocalAllocationPlan,
    MarketError,
    Menu,
    allocate_locally,
)
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_shared.mechanisms import build
from deniable_shared.randomness.coins import Coins
from support.oracles.central_auctions import GOODS, outcome, uniform

LIMITS = [(3_000, 0.32, 0.35), (30_000, 0.12, 0.12), (300_000, 0.045, 0.045)]
PAIRS = list(itertools.product(range(3), repeat=2))


@pytest.mark.statistical
@pytest.mark.parametrize(("buyers", "off", "most_over"), LIMITS)
def test_one_randomized_answer_each_is_enough(buyers: int, off: float, most_over: float) -> None:
    worths = uniform(buyers, GOODS)
    got = allocate_locally(worths, buyers // 10, epsilon=2)
    share, over = outcome(worths, buyers // 10, got)
    assert share == pytest.approx(1, abs=off)
    assert over <= most_over
    assert got.release.guarantee == Guarantee.pure(Fraction(2), Adjacency.REPLACE)
    assert got.release.against == "everyone, the server included"


def plan(buyers: int = 400, rounds: int = 4) -> LocalAllocationPlan:
    mechanism = build("grr/1", domain_size=3, epsilon=2)
    return LocalAllocationPlan(buyers, Menu.singles(2), np.array([50, 50]), rounds, mechanism)


def test_an_estimated_demand_is_unbiased() -> None:
    """A quarter of 400 buyers, of whom 30 want the first good and 20 the second: a mean tally."""
    mechanism, truths = plan().mechanism, (50, 30, 20)
    counts = [
        sum(t * float(mechanism.p if a == b else mechanism.q) for a, t in enumerate(truths))
        for b in range(3)
    ]
    many = np.rint(np.array(counts) * 10**12).astype(np.int64)
    assert plan().demand(many) == pytest.approx([120, 80], rel=1e-9)


def test_estimated_demand_varies_at_most_as_the_step_allows() -> None:
    """Exactly, of two reports of every pair of truths, one of four cohorts of eight buyers."""
    few = LocalAllocationPlan(8, Menu.singles(2), np.array([2, 2]), 4, plan().mechanism)
    chances = np.full((3, 3), float(few.mechanism.q))
    np.fill_diagonal(chances, float(few.mechanism.p))
    demands = {pair: few.demand(np.bincount(pair, minlength=3)) for pair in PAIRS}
    for truths in PAIRS:
        law = np.array([chances[truths[0], a] * chances[truths[1], b] for a, b in PAIRS])
        values = np.array([demands[pair] for pair in PAIRS])
        mean = law @ values
        assert mean == pytest.approx(4 * np.bincount(truths, minlength=3)[1:], abs=1e-9)
        assert float((law @ (values - mean) ** 2).sum()) <= 2 * few.variance


def test_prices_rise_with_demand_above_supply_and_fall_below() -> None:
    start, high, lower = plan().boards([[0, 100, 0], [100, 0, 0]])
    assert start.tolist() == [0, 0]
    assert high[0] > 0 == high[1]
    assert lower[0] < high[0]


def test_prices_are_a_function_of_the_tallies_so_far() -> None:
    tallies = [[40, 30, 30], [10, 80, 10], [50, 25, 25]]
    boards = plan().boards(tallies)
    for rounds in range(4):
        assert (plan().boards(tallies[:rounds]) == boards[: rounds + 1]).all()
    assert (plan().release(tallies).result == boards).all()


def test_a_market_ends_with_its_rounds() -> None:
    assert plan(rounds=1).boards([[10, 0, 0]]).shape == (2, 2)
    with pytest.raises(MarketError, match="at most 1 rounds', got 2"):
        plan(rounds=1).boards([[10, 0, 0]] * 2)


@pytest.mark.parametrize("tally", [[1, 2], [0, 0, 0], [1.0, 2.0, 3.0]])
def test_a_tally_that_is_none_is_refused(tally: list[float]) -> None:
    with pytest.raises(MarketError, match="a tally must count the reports of 3 options"):
        plan().boards([tally])


def test_plans_that_cannot_be_are_refused() -> None:
    with pytest.raises(MarketError, match="at least one a round"):
        plan(buyers=3, rounds=4)
    with pytest.raises(MarketError, match='must be "grr/1" over the 3 options'):
        LocalAllocationPlan(
            9, Menu.singles(2), np.array([1, 1]), 2, build("rr/1", domain_size=3, epsilon=1)
        )


def test_a_small_market_is_allocated_by_one_answer_of_each_buyer() -> None:
    got = allocate_locally(uniform(60, 2), 20, epsilon=4, rounds=3, coins=Coins.derive(b"market"))
    assert got.release.result.shape == (4, 2)
    assert len(got.choices) == 60
    assert set(got.choices.tolist()) <= {0, 1, 2}
    assert got.release.guarantee == Guarantee.pure(Fraction(4), Adjacency.REPLACE)
