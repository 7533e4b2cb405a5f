"""zCDP, tCDP and RDP: they add up, and what (ε, δ) they amount to is true and rounded up."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from deniable_central.accounting import (
    AccountError,
    RenyiCurve,
    TruncatedConcentration,
    delta_of,
    epsilon_of,
    rational_bounds,
    simple_epsilon_of,
)
from deniable_central.accounting.renyi import ORDERS, pure_divergence, range_divergence
from deniable_central.guarantee import Guarantee, bounded_range_rho, pure_rho
from support.oracles.central_accounting import (
    MICRO,
    REPLACE,
    UP,
    check_converts,
    check_curve,
    range_pairs,
    response_pairs,
)

RHOS = [Fraction(1, 10**12), Fraction(1, 1000), Fraction(1), Fraction(100)]
DELTAS = [Fraction(1, 10**12), MICRO, Fraction(1, 10)]
NUMBERS = [Fraction(1, 10**9), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(10**9)]


@pytest.mark.parametrize("x", NUMBERS)
def test_functions_are_enclosed_more_tightly_than_floats_tell(x: Fraction) -> None:
    low, high = rational_bounds.ln(x)
    assert low <= Fraction(math.log(x)) + Fraction(1, 10**14)
    assert high - low <= Fraction(1, 10**50)
    root = rational_bounds.sqrt(x)
    assert root[0] ** 2 <= x <= root[1] ** 2


@pytest.mark.parametrize("x", [Fraction(-30), Fraction(-1, 3), Fraction(0), Fraction(5)])
def test_the_exponential_and_the_logarithm_undo_each_other(x: Fraction) -> None:
    low, high = rational_bounds.exp(x)
    assert rational_bounds.ln(low)[0] <= x <= rational_bounds.ln(high)[1]


def test_a_conversion_is_true_of_gaussians() -> None:
    check_converts(epsilon_of)
    check_converts(simple_epsilon_of)


@pytest.mark.parametrize(("rho", "delta"), list(itertools.product(RHOS, DELTAS)))
def test_the_conversion_is_the_best_of_all_orders_and_below_the_simple_one(
    rho: Fraction, delta: Fraction
) -> None:
    orders = 1 + np.geomspace(1e-6, 1e9, 100_001)
    at_orders = (
        float(rho) * orders
        + np.log1p(-1 / orders)
        - (math.log(delta) + np.log(orders)) / (orders - 1)
    )
    best = max(float(at_orders.min()), 0.0)
    assert float(epsilon_of(rho, delta)) == pytest.approx(best, rel=1e-6, abs=1e-12)
    assert epsilon_of(rho, delta) <= simple_epsilon_of(rho, delta)


@pytest.mark.parametrize(("rho", "delta"), list(itertools.product(RHOS[1:3], DELTAS)))
def test_epsilon_and_delta_undo_each_other(rho: Fraction, delta: Fraction) -> None:
    epsilon = epsilon_of(rho, delta)
    assert delta_of(rho, epsilon) <= delta * (1 + MICRO)
    assert not epsilon or delta_of(rho, epsilon) >= delta * (1 - MICRO)


def test_nothing_costs_nothing_and_very_little_is_hidden_by_delta() -> None:
    assert epsilon_of(Fraction(0), MICRO) == delta_of(Fraction(0), Fraction(1)) == 0
    assert epsilon_of(Fraction(1, 10**12), MICRO) == 0


def test_fifty_draws_of_the_exponential_mechanism_at_a_fifth() -> None:
    rho = 50 * bounded_range_rho(Fraction(1, 5))
    assert float(simple_epsilon_of(rho, MICRO)) == pytest.approx(3.97, abs=0.005)
    assert float(epsilon_of(rho, MICRO)) == pytest.approx(3.54, abs=0.005)
    curve = RenyiCurve.bounded_range("0.2").times(50)
    assert float(curve.epsilon(MICRO)) == pytest.approx(3.483, abs=0.001)


@pytest.mark.parametrize("omega", [Fraction(11, 10), Fraction(3), Fraction(50)])
def test_truncation_costs_what_the_best_order_below_omega_does(omega: Fraction) -> None:
    rho, log = Fraction(1, 4), -math.log(MICRO)
    bound = float(TruncatedConcentration(rho, omega).epsilon(MICRO))
    cut = log > (float(omega) - 1) ** 2 * float(rho)
    w = float(omega)
    noted = float(rho) * w + log / (w - 1) if cut else float(simple_epsilon_of(rho, MICRO))
    assert bound <= noted * UP
    assert bound >= float(epsilon_of(rho, MICRO)) / UP


def test_without_a_bound_truncation_is_zcdp() -> None:
    assert TruncatedConcentration(Fraction(1, 4), Fraction(10**9)).epsilon(MICRO) == epsilon_of(
        Fraction(1, 4), MICRO
    )


def test_truncated_costs_add_up_and_the_least_omega_holds() -> None:
    both = TruncatedConcentration(Fraction(1), Fraction(5)) + TruncatedConcentration(
        Fraction(2), Fraction(3)
    )
    assert both == TruncatedConcentration(Fraction(3), Fraction(3))


def test_pure_curves_are_those_of_randomized_response() -> None:
    check_curve(lambda e, a: float(pure_divergence(Fraction(e), Fraction(a))), response_pairs)


@pytest.mark.slow
def test_curves_of_bounded_range_are_reached_by_two_likelihood_ratios() -> None:
    check_curve(lambda e, a: float(range_divergence(Fraction(e), Fraction(a))), range_pairs)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 5), Fraction(2), Fraction(20)])
def test_no_curve_is_above_the_rho_of_the_same_release(epsilon: Fraction) -> None:
    pure, drawn = RenyiCurve.pure(epsilon), RenyiCurve.bounded_range(epsilon)
    tiny = Fraction(1, 2**80)
    for order, of_pure, of_drawn in zip(ORDERS, pure.divergences, drawn.divergences, strict=True):
        assert of_drawn <= of_pure + tiny
        assert of_pure <= order * pure_rho(epsilon) + tiny
        assert of_drawn <= order * bounded_range_rho(epsilon) + tiny


def test_curves_add_up_and_a_gaussian_is_a_line() -> None:
    line = RenyiCurve.concentrated(Fraction(1, 3))
    assert line.divergences[0] == ORDERS[0] / 3
    assert line + line == line.times(2)
    assert RenyiCurve.of(Guarantee.concentrated(Fraction(1, 3), REPLACE)) == line


def test_a_curve_of_many_pure_releases_is_far_below_their_sum() -> None:
    assert RenyiCurve.pure("0.01").times(1000).epsilon(MICRO) < Fraction(18, 10)


def test_a_delta_has_no_curve() -> None:
    approximate = Guarantee.approximate(Fraction(1), MICRO, REPLACE)
    with pytest.raises(AccountError, match="account for it by rho and delta"):
        RenyiCurve.of(approximate)


@pytest.mark.parametrize("delta", [1e-6, Fraction(0), Fraction(1), "zero", "1e-300"])
def test_a_delta_that_is_none_is_refused_with_the_range(delta: Fraction) -> None:
    with pytest.raises(AccountError, match="delta must"):
        epsilon_of(Fraction(1), delta)


@pytest.mark.parametrize("rho", [-1, 0.5, "1"])
def test_a_rho_that_is_none_is_refused(rho: Fraction) -> None:
    with pytest.raises(AccountError, match="rho must be an int or a Fraction"):
        epsilon_of(rho, MICRO)


def test_orders_up_to_one_are_no_truncation() -> None:
    with pytest.raises(AccountError, match="omega must be above 1"):
        TruncatedConcentration(Fraction(1), Fraction(1))
