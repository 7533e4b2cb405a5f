"""The online session's exact privacy: whole transcripts, and its sparse vector alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable_central.pmf import Pmf
from deniable_central.queries import Counts, OnlinePlan, OnlineSession, SessionDemand
from deniable_shared.randomness.coins import Coins
from support.oracles.central_queries import Tally, exchanged_tallies
from support.oracles.neighbour_pmfs import check_pure
from support.oracles.online_pmf import ThresholdTest, Transcript, online_pmf
from support.oracles.selection_checks import check_follows
from support.tiers import grid

HALF = Fraction(1, 2)
Tests = tuple[tuple[int, bool], ...]


def planned(
    *,
    updates: int,
    threshold: int,
    epsilons: tuple[Fraction, Fraction, Fraction] = (HALF, HALF, HALF),
    rows: int = 3,
    domain: int = 2,
    scale: int = 1,
) -> OnlinePlan:
    demand = SessionDemand(rows, domain, 2, scale=scale, moves=scale)
    return OnlinePlan(demand, epsilons, updates, threshold)


@pytest.mark.parametrize("updates", [1, 2])
@pytest.mark.parametrize("threshold", [-3, 1, 3, 30])
@pytest.mark.parametrize("queries", [[[1, 0]], [[1, 0], [0, 1]]])
def test_no_transcript_on_small_data_leaks_more_than_epsilon(
    updates: int, threshold: int, queries: list[list[int]]
) -> None:
    plan = planned(updates=updates, threshold=threshold)

    def law(tally: Tally) -> Pmf[Transcript]:
        return online_pmf(plan, Counts(np.array(tally)), queries, reach=6)

    check_pure(law, exchanged_tallies(2, [3]), plan.guarantee)


@pytest.mark.parametrize("updates", [1, 2])
def test_no_transcript_of_three_queries_over_three_values_leaks_more(updates: int) -> None:
    plan = planned(updates=updates, threshold=2, rows=2, domain=3)
    queries = [[1, 0, 0], [0, 1, 1], [0, 0, 1]]

    def law(tally: Tally) -> Pmf[Transcript]:
        return online_pmf(plan, Counts(np.array(tally)), queries, reach=3)

    check_pure(law, exchanged_tallies(3, [2]), plan.guarantee)


def test_fractions_cost_what_predicates_cost() -> None:
    plan = planned(updates=1, threshold=5, scale=4)

    def law(tally: Tally) -> Pmf[Transcript]:
        return online_pmf(plan, Counts(np.array(tally)), [[4, 1], [0, 3]], reach=9)

    check_pure(law, exchanged_tallies(2, [3]), plan.guarantee)


def decisions(length: int, teaching: int) -> Iterator[tuple[bool, ...]]:
    yield from (d for d in product((False, True), repeat=length) if sum(d) <= teaching)


@pytest.mark.slow
@pytest.mark.parametrize("updates", [1, 2])
@pytest.mark.parametrize(
    "epsilons",
    grid([(HALF, HALF, HALF), (Fraction(2), HALF, HALF)], by_default=[(Fraction(2), HALF, HALF)]),
)
def test_the_sparse_vector_hides_any_move_of_any_error(
    updates: int, epsilons: tuple[Fraction, Fraction, Fraction]
) -> None:
    """All errors 0 … 3 of three queries, each with itself and its neighbours, all decisions."""
    test = ThresholdTest(planned(updates=updates, threshold=2, epsilons=epsilons))
    bound = math.exp(epsilons[0] + epsilons[1]) * (1 + 1e-9)
    for errors in product(range(4), repeat=3):
        for step in product((-1, 0, 1), repeat=3):
            for decided in decisions(3, updates):
                one = tuple(zip(errors, decided, strict=True))
                moved = [abs(e + s) for e, s in zip(errors, step, strict=True)]
                other = tuple(zip(moved, decided, strict=True))
                assert test.chance(one) <= bound * test.chance(other)


@pytest.mark.slow
@pytest.mark.parametrize("updates", [1, 2])
def test_the_sparse_vector_reaches_its_epsilon(updates: int) -> None:
    """Many errors that grow pass, and then c that shrink teach."""
    epsilons = (Fraction(1), Fraction(1), HALF)
    test = ThresholdTest(planned(updates=updates, threshold=1, epsilons=epsilons))

    def tests(passing: int, teaching: int) -> Tests:
        return ((passing, False),) * 1000 + ((teaching, True),) * updates

    ratio = test.chance(tests(0, 1)) / test.chance(tests(1, 0))
    assert math.log(ratio) == pytest.approx(2, abs=0.01)


@pytest.mark.statistical
@pytest.mark.parametrize("threshold", [0, 2])
def test_sessions_follow_the_law(threshold: int) -> None:
    """3,000 sessions of two queries, chi-square at 10^−6."""
    plan = planned(updates=2, threshold=threshold, epsilons=(Fraction(2), Fraction(4), Fraction(8)))
    data, queries, coins = Counts(np.array([3, 0])), [[1, 0], [0, 1]], Coins.system()

    def transcript() -> Transcript:
        session = OnlineSession.open(data, plan, coins=coins)
        answers = [session.ask(query) for query in queries]
        return tuple(answer.count if answer.taught else None for answer in answers)

    check_follows(transcript, online_pmf(plan, data, queries, reach=12), draws=3_000)
