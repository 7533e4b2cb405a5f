"""Exact privacy of stable answers: all neighbours of all small data sets, both ways."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TypeVar

import pytest

from deniable_central.guarantee import Adjacency
from deniable_central.pmf import Pmf
from deniable_central.stability import (
    Proposal,
    StabilityTest,
    agreement,
    propose_argmax,
    propose_mode,
    propose_quantile,
)
from support.oracles.neighbour_pmfs import (
    check_delta_is_exact,
    enlarged,
    exchanged,
    hockey_stick,
)
from support.tiers import grid

pytestmark = pytest.mark.slow

Rows = tuple[int, ...]
Answer = TypeVar("Answer")
TESTS = [
    StabilityTest(Fraction(1, 10), 1),
    StabilityTest(Fraction(1), 1),
    StabilityTest(Fraction(1), 2),
    StabilityTest(Fraction(3), 2),
    StabilityTest.of(epsilon="1", delta="1e-6"),
]
QUANTILES = [Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1)]


def law(
    test: StabilityTest, propose: Callable[[Rows], Proposal[Answer]]
) -> Callable[[Rows], Pmf[Answer | None]]:
    """Rows with one proposal have one law."""
    of_proposal = cache(test.pmf)
    return lambda rows: of_proposal(propose(rows))


def quantile(share: Fraction) -> Callable[[Rows], Proposal[int]]:
    return lambda rows: propose_quantile(rows, share)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("share", grid(QUANTILES, by_default=QUANTILES[:2]))
def test_a_stable_quantile_of_few_rows_costs_exactly_epsilon_and_delta(
    test: StabilityTest, share: Fraction
) -> None:
    pairs = list(exchanged(range(3), range(1, 5)))
    check_delta_is_exact(law(test, quantile(share)), pairs, test.guarantee)


@pytest.mark.slow
@pytest.mark.parametrize("test", TESTS[1:3])
def test_a_stable_median_of_five_rows_costs_exactly_epsilon_and_delta(test: StabilityTest) -> None:
    pairs = list(exchanged(range(3), [5]))
    check_delta_is_exact(law(test, propose_quantile), pairs, test.guarantee)


@pytest.mark.parametrize("epsilon", grid(["0.1", "1", "5"], by_default=["1"]))
@pytest.mark.parametrize("threshold", [1, 3])
def test_the_delta_of_a_test_is_the_worst_hockey_stick_and_nothing_above(
    epsilon: str, threshold: int
) -> None:
    test = StabilityTest(Fraction(epsilon), threshold)
    one, other = test.pmf(Proposal(0, 1)), test.pmf(Proposal(1, 1))
    _, worst = hockey_stick(one, other, test.epsilon)
    assert abs(worst - test.guarantee.delta) < Fraction(1, 2**90)


@pytest.mark.parametrize("test", TESTS)
def test_a_stable_mode_costs_exactly_epsilon_and_delta_for_replacing_a_row(
    test: StabilityTest,
) -> None:
    pairs = list(exchanged(range(3), range(1, 5)))
    check_delta_is_exact(law(test, propose_mode), pairs, test.guarantee)


@pytest.mark.parametrize("test", TESTS)
def test_a_stable_mode_costs_exactly_epsilon_and_delta_for_a_row_more(test: StabilityTest) -> None:
    def propose(rows: Rows) -> Proposal[int]:
        return propose_mode(rows, adjacency=Adjacency.ADD_REMOVE)

    pairs = list(enlarged(range(3), range(5)))
    check_delta_is_exact(law(test, propose), pairs, test.guarantee)


@pytest.mark.slow
@pytest.mark.parametrize("apart", [1, 2, 3])
def test_a_stable_argmax_bears_any_move_within_its_range_sensitivity(apart: int) -> None:
    test = StabilityTest(Fraction(1), 2)

    def propose(counts: Rows) -> Proposal[int]:
        return propose_argmax(counts, range_sensitivity=apart)

    vectors = [(a, b, c) for a in range(7) for b in range(7) for c in range(7)]
    moves = [(0, 0, apart), (0, apart, 0), (apart, 0, 0), (0, apart, apart), (apart, apart, 0)]
    pairs = [(v, (v[0] + m[0], v[1] + m[1], v[2] + m[2])) for v in vectors for m in moves]
    check_delta_is_exact(law(test, propose), pairs, test.guarantee)


@pytest.mark.slow
@pytest.mark.parametrize("overlap", grid([1, 2], by_default=[1]))
def test_sample_and_aggregate_costs_exactly_epsilon_and_delta(overlap: int) -> None:
    """All answers of a few blocks, with all that a row in `overlap` of them can make of them."""
    test = StabilityTest(Fraction(1), 1)

    def propose(answers: Rows) -> Proposal[int | str]:
        return agreement(answers, overlap=overlap)

    pairs = [
        (before, after)
        for before, step in exchanged(range(3), [5 if overlap == 1 else 4])
        for after in ([step] if overlap == 1 else [far for _, far in exchanged_once(step)])
    ]
    check_delta_is_exact(law(test, propose), pairs, test.guarantee)


def exchanged_once(rows: Rows) -> list[tuple[Rows, Rows]]:
    return [
        (rows, (*rows[:place], value, *rows[place + 1 :]))
        for place in range(len(rows))
        for value in range(3)
    ]
