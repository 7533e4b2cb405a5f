"""Several releases together: no composition is below the truth, and the optimal one is it."""

from __future__ import annotations

import math
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from deniable_central.accounting import (
    AccountError,
    advanced_epsilon,
    basic,
    bounded_range_epsilon,
    epsilon_of,
    optimal_delta,
    optimal_epsilon,
)
from deniable_central.guarantee import Guarantee, bounded_range_rho
from support.oracles.central_accounting import (
    ADD_REMOVE,
    MICRO,
    REPLACE,
    UP,
    Pair,
    approximate_response,
    check_composes,
    hockey_stick,
    product,
    range_pair,
    repeated_response,
)
from support.tiers import grid

_binom = import_module("scipy.stats").binom

FIFTH = Fraction(1, 5)


def test_the_advanced_theorem_is_true_of_randomized_response() -> None:
    check_composes(lambda e, k, d: advanced_epsilon(e, releases=k, delta=d))


def test_the_optimal_epsilon_is_reached_by_randomized_response() -> None:
    check_composes(lambda e, k, d: optimal_epsilon(e, releases=k, delta=d), tight=0.999)


@pytest.mark.parametrize("times", [1, 2, 7, 40])
@pytest.mark.parametrize("epsilon", grid(["0.1", "0.5", "2"], by_default=["0.5"]))
def test_the_optimal_delta_is_the_hockey_stick_of_all_answers(epsilon: str, times: int) -> None:
    pair = repeated_response(float(epsilon), times)
    for share in (0.0, 0.3, 0.61, 0.99):
        target = Fraction(share) * Fraction(epsilon) * times
        delta = optimal_delta(epsilon, releases=times, target=target)
        assert float(delta) == pytest.approx(
            hockey_stick(*pair, float(target)), rel=1e-9, abs=1e-28
        )


@pytest.mark.parametrize("i", range(6))
def test_the_formula_of_the_notes_at_its_own_epsilons(i: int) -> None:
    e, k = 0.5, 10
    terms = (
        math.comb(k, j) * (math.exp((k - j) * e) - math.exp((k - 2 * i + j) * e)) for j in range(i)
    )
    formula = sum(terms) / (1 + math.exp(e)) ** k
    exact = optimal_delta("0.5", releases=k, target=Fraction(k - 2 * i, 2))
    assert float(exact) == pytest.approx(formula, rel=1e-12, abs=1e-27)


def test_releases_with_a_delta_compose_like_the_response_they_come_from() -> None:
    pair: Pair = product([approximate_response(0.5, 1e-4)] * 5)
    for target in (0.0, 0.4, 1.0, 2.5):
        exact = hockey_stick(*pair, target)
        bound = optimal_delta(
            "0.5", releases=5, target=Fraction(target), each_delta=Fraction(1, 10_000)
        )
        assert float(bound) == pytest.approx(exact, rel=1e-9)


def test_epsilon_and_delta_of_the_optimum_undo_each_other() -> None:
    each = Fraction(1, 10**9)
    epsilon = optimal_epsilon(FIFTH, releases=50, delta=MICRO, each_delta=each)
    delta = optimal_delta(FIFTH, releases=50, target=epsilon, each_delta=each)
    assert float(delta) == pytest.approx(1e-6, rel=1e-9)


def test_no_theorem_is_below_the_optimum_and_the_sum_is_the_most() -> None:
    for k in (1, 10, 1000):
        least = optimal_epsilon("0.1", releases=k, delta=MICRO)
        assert least <= advanced_epsilon("0.1", releases=k, delta=MICRO)
        assert least <= Fraction(k, 10)


def test_thousands_of_releases_are_composed_exactly() -> None:
    epsilon = optimal_epsilon("0.01", releases=2_000, delta=MICRO)
    lies = np.arange(2_001)
    p = _binom.pmf(lies, 2_000, 1 / (1 + math.exp(0.01)))
    assert hockey_stick(p, p[::-1], float(epsilon)) == pytest.approx(1e-6, rel=1e-6)


def test_more_than_can_be_composed_exactly_is_refused_with_the_cure() -> None:
    with pytest.raises(AccountError, match="use RenyiCurve"):
        optimal_epsilon("0.01", releases=20_000, delta=MICRO)


def test_draws_of_bounded_range_compose_below_any_pure_releases() -> None:
    bound = bounded_range_epsilon(FIFTH, releases=50, delta=MICRO)
    assert float(bound) == pytest.approx(3.54, abs=0.005)
    assert bound == epsilon_of(50 * bounded_range_rho(FIFTH), MICRO)
    assert bound < optimal_epsilon(FIFTH, releases=50, delta=MICRO)


@pytest.mark.parametrize("times", [1, 3, 9])
def test_pairs_of_bounded_range_stay_within_their_composition(times: int) -> None:
    bound = float(bounded_range_epsilon(1, releases=times, delta=Fraction(1, 100)))
    for shift in np.linspace(0.1, 0.9, 9).tolist():
        pair = product([range_pair(1.0, shift)] * times)
        assert hockey_stick(*pair, bound) <= 0.01 * UP


def test_a_sum_claims_what_all_its_parts_claim() -> None:
    drawn = Guarantee.bounded_range(FIFTH, REPLACE)
    gaussian = Guarantee.concentrated(Fraction(1, 8), REPLACE)
    approximate = Guarantee.approximate(FIFTH, MICRO, REPLACE)
    assert basic([drawn, drawn]) == Guarantee.bounded_range(FIFTH, REPLACE, times=2)
    assert basic([drawn, gaussian]).epsilon is None
    assert basic([drawn, gaussian]).rho == bounded_range_rho(FIFTH) + Fraction(1, 8)
    assert basic([drawn, approximate, approximate]) == Guarantee(
        3 * FIFTH, None, 2 * MICRO, REPLACE
    )


def test_a_sum_of_nothing_or_of_two_relations_is_refused_with_the_cure() -> None:
    one, other = (Guarantee.pure(FIFTH, kind) for kind in (REPLACE, ADD_REMOVE))
    for parts in ([], [one, other]):
        with pytest.raises(AccountError, match=r"share one adjacency.*`replaced`"):
            basic(parts)


def test_a_sum_of_deltas_of_one_promises_nothing() -> None:
    half = Guarantee.approximate(FIFTH, Fraction(1, 2), REPLACE)
    with pytest.raises(AccountError, match="add up to less than 1"):
        basic([half, half])
    with pytest.raises(AccountError, match="a smaller delta for each"):
        optimal_epsilon(FIFTH, releases=2, delta=MICRO, each_delta=Fraction(1, 100))
