"""What privacy says beyond the rows: the gap to the population, and a holdout asked again."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from deniable_central.accounting import (
    AccountError,
    Holdout,
    HoldoutError,
    HoldoutPlan,
    plan_holdout,
    population_error,
    transfer_gap,
)
from deniable_central.guarantee import Guarantee
from deniable_central.pmf import Pmf
from support.oracles.central_accounting import MICRO, REPLACE
from support.oracles.central_holdout import check_gap, check_sparse_vector, flags_law
from support.oracles.selection_checks import check_follows
from support.tiers import by_tier, rows

Bits = npt.NDArray[np.uint8]

SPLIT = (Fraction(1, 4), Fraction(3, 2), Fraction(1, 4))
GUESSES = (Fraction(0), Fraction(1), Fraction(1, 2))
PLAN = HoldoutPlan(3, SPLIT, Fraction(1, 2), 1, 3)


def fair(size: int) -> Bits:
    return np.frombuffer(os.urandom(size), dtype=np.uint8) & np.uint8(1)


def test_the_population_is_within_the_gap_for_any_outcome_and_reaches_it() -> None:
    check_gap(transfer_gap)


def test_the_gap_is_half_of_what_is_usually_said() -> None:
    assert float(transfer_gap("0.1")) == pytest.approx(math.tanh(0.025), rel=1e-12)
    assert transfer_gap(4) < Fraction(77, 100)


def test_answers_about_a_population_add_the_gap_and_the_rare_failure() -> None:
    pure = Guarantee.pure(Fraction(1), REPLACE)
    bound = population_error(pure, alpha=Fraction(1, 100), beta=MICRO, failure=Fraction(1, 100))
    assert float(bound) == pytest.approx(0.01 + math.tanh(0.25) + 1e-4, rel=1e-9)


def test_answers_under_a_delta_take_the_best_split() -> None:
    delta, beta, failure = 1e-8, 1e-6, 0.01
    loose = Guarantee.approximate(Fraction(1, 10), Fraction(delta), REPLACE)
    bound = population_error(
        loose, alpha=Fraction(0), beta=Fraction(beta), failure=Fraction(failure)
    )
    shares = np.linspace(0.01, 0.99, 9801)
    best = (beta / (failure * shares) + 2 * delta / (failure * (1 - shares))).min()
    assert float(bound) == pytest.approx(math.expm1(0.1) + best, rel=1e-6)


def test_a_failure_that_cannot_be_reached_is_refused() -> None:
    with pytest.raises(AccountError, match="failure must lie between beta"):
        population_error(
            Guarantee.pure(Fraction(1), REPLACE), alpha=MICRO, beta=MICRO, failure=MICRO
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overfits", "scale"), rows([(1, 1), (2, 1), (1, 2)], by_default=[(2, 1), (1, 2)])
)
def test_a_holdout_is_private_whatever_is_asked(overfits: int, scale: int) -> None:
    plan = HoldoutPlan(3, SPLIT, Fraction(1, 2), overfits, 3, scale=scale)
    check_sparse_vector(plan.decays, plan.threshold, overfits, epsilon=2.0, scale=scale)


@pytest.mark.slow
def test_the_epsilon_of_a_holdout_is_reached() -> None:
    check_sparse_vector(PLAN.decays, PLAN.threshold, 1, epsilon=2.0, tight=0.95)


@pytest.mark.statistical
def test_flags_follow_the_law() -> None:
    """4,000 draws, rejected at 1e-6."""
    rows, guesses = [0, 1, 1], [Fraction(2, 3), Fraction(0), Fraction(1)]

    def draw() -> tuple[bool, ...]:
        holdout = Holdout(rows, PLAN)
        flags = []
        for guess in guesses:
            flags.append(holdout.ask(lambda row: row, guess=guess).overfits)
            if flags[-1]:
                break
        return tuple(flags)

    law = flags_law(PLAN.decays, PLAN.threshold, [0, 2, 1])
    bounds = tuple(Fraction(chance) for chance in law.values())
    check_follows(draw, Pmf(tuple(law), bounds, bounds), draws=4_000)


@pytest.mark.slow
@pytest.mark.deeper
def test_a_guess_that_agrees_is_answered_by_itself_and_costs_nothing() -> None:
    plan = plan_holdout(rows=10_000, epsilon=1, tolerance=Fraction(1, 20), overfits=3, queries=100)
    holdout = Holdout(fair(10_000), plan)
    asked = by_tier(20, 100)
    answers = [holdout.ask(int, guess=Fraction(1, 2)) for _ in range(asked)]
    assert {answer.share for answer in answers} == {Fraction(1, 2)}
    assert (holdout.overfits_left, holdout.query_count) == (3, asked)
    assert holdout.guarantee == Guarantee.pure(Fraction(1), REPLACE)


def test_a_guess_that_misleads_is_corrected_until_the_holdout_is_worn_out() -> None:
    plan = plan_holdout(rows=10_000, epsilon=1, tolerance=Fraction(1, 20), overfits=3, queries=100)
    holdout = Holdout(fair(10_000), plan)
    for left in (2, 1, 0):
        answer = holdout.ask(int, guess=Fraction(9, 10))
        assert answer.overfits
        assert abs(answer.share - Fraction(1, 2)) < plan.error + Fraction(1, 20)
        assert holdout.overfits_left == left
    with pytest.raises(HoldoutError, match=r"corrected 3 guesses, as planned; hold out other rows"):
        holdout.ask(int, guess=Fraction(1, 2))


def test_no_query_reaches_further_than_planned() -> None:
    holdout = Holdout([1, 2, 3], PLAN)
    assert holdout._count(lambda row: 10**9) == 3
    assert holdout._count(lambda row: -row) == 0


def below(size: int) -> Callable[[int], int]:
    return lambda row: int(row < size)


@pytest.mark.statistical
def test_answers_are_within_the_error_as_often_as_said() -> None:
    """300 sessions at beta = 0.05: 39 or more failures in less than one run of 10^6."""
    plan = plan_holdout(rows=100, epsilon=4, tolerance=Fraction(1, 5), overfits=2, queries=10)
    failed = 0
    for _ in range(300):
        holdout, errors = Holdout(range(100), plan), [Fraction(0)]
        for size, guess in zip(range(0, 100, 10), itertools.cycle(GUESSES), strict=False):
            if holdout.overfits_left:
                answer = holdout.ask(below(size), guess=guess)
                errors.append(abs(answer.share - Fraction(size, 100)))
        failed += max(errors) > plan.error
    assert failed < 39


@pytest.mark.slow
@pytest.mark.deeper
def test_an_adaptive_analyst_is_misled_by_rows_and_not_by_the_holdout() -> None:
    """400 attributes of noise: the vote of those that look good on the rows looks good on them."""
    rows, attributes = 1_000, 400
    data, labels = fair(rows * attributes).reshape(rows, attributes), fair(rows)
    agree = (data == labels[:, None]).mean(axis=0) > 0.5
    votes = np.where(agree, data, 1 - data).mean(axis=1) > 0.5
    assert (votes == labels).mean() > 0.6
    plan = plan_holdout(
        rows=rows, epsilon=4, tolerance=Fraction(3, 20), overfits=5, queries=attributes
    )
    holdout = Holdout(np.column_stack([data, labels]), plan)
    for place in range(by_tier(100, attributes)):
        assert not holdout.ask(_matches(place), guess=Fraction(1, 2)).overfits  # but for 1 in 10^7


def _matches(place: int) -> Callable[[Bits], int]:
    return lambda row: int(row[place] == row[-1])


@pytest.mark.parametrize(
    "wrong", [{"overfits": 0}, {"queries": 0}, {"tolerance": Fraction(1)}, {"beta": 0.0}]
)
def test_a_plan_that_is_none_is_refused(wrong: dict[str, int]) -> None:
    given = {"rows": 10, "epsilon": 1, "tolerance": Fraction(1, 5), "overfits": 1, "queries": 5}
    with pytest.raises(ValueError, match="must"):
        plan_holdout(**{**given, **wrong})  # type: ignore[arg-type]  # a wrong type is the point


def test_other_rows_than_planned_are_refused() -> None:
    with pytest.raises(HoldoutError, match="rows must be 3, as planned, got 2"):
        Holdout([0, 1], PLAN)


def test_a_plan_says_how_far_an_answer_is_from_the_population() -> None:
    plan = plan_holdout(rows=10_000, overfits=1, queries=3, epsilon=1, tolerance=Fraction(1, 2))
    assert plan.population_error(failure=Fraction(1, 2)) > plan.error


@pytest.mark.parametrize("guess", [Fraction(-1), 2])
def test_a_guess_is_a_share(guess: Fraction | int) -> None:
    holdout = Holdout(range(3), PLAN)
    with pytest.raises(HoldoutError, match=r"guess must be a share in \[0, 1\]"):
        holdout.ask(lambda row: 1, guess=guess)
