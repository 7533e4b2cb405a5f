"""What a release costs: the zCDP of pure and bounded-range draws, tight and rounded up."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable_central.guarantee import (
    Adjacency,
    Guarantee,
    bounded_range_rho,
    parse_adjacency,
    pure_rho,
    round_up,
)
from deniable_shared.errors import ParameterError
from support.oracles.selection_checks import ALPHAS, divergence
from support.tiers import grid

EPSILONS = [
    Fraction(1, 10**6),
    Fraction(1, 20),
    Fraction(1, 5),
    Fraction(1),
    Fraction(4),
    Fraction(20),
]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_pure_rho_is_epsilon_times_tanh_rounded_up(epsilon: Fraction) -> None:
    expected = float(epsilon) * math.tanh(epsilon / 2)
    assert float(pure_rho(epsilon)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_pure_rho_is_tight_at_randomized_response(epsilon: Fraction) -> None:
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    law, other = np.array([p, 1 - p]), np.array([1 - p, p])
    near_one = divergence(law, other, 1 + 1e-6)
    assert near_one == pytest.approx(float(pure_rho(epsilon)), rel=1e-4)


@pytest.mark.parametrize("epsilon", EPSILONS[1:])
def test_bounded_range_rho_is_its_formula_and_below_an_eighth(epsilon: Fraction) -> None:
    t = float(epsilon) / math.expm1(epsilon)
    rho = bounded_range_rho(epsilon)
    assert float(rho) == pytest.approx(t - 1 - math.log(t), rel=1e-9)
    assert rho <= epsilon**2 / 8 + Fraction(1, 2**90)


def test_bounded_range_rho_of_a_tiny_epsilon_is_an_eighth_of_its_square() -> None:
    tiny = Fraction(1, 10**6)
    assert float(bounded_range_rho(tiny)) == pytest.approx(1.25e-13, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", grid(EPSILONS[1:], by_default=EPSILONS[1::2]))
def test_bounded_range_rho_bounds_every_pair_of_that_range_and_is_reached(
    epsilon: Fraction,
) -> None:
    rho, e = float(bounded_range_rho(epsilon)), float(epsilon)
    worst = 0.0
    for shift in np.linspace(e / 1000, e, 999, endpoint=False):  # log-ratios shift − ε and shift
        q = math.expm1(shift) / (math.expm1(shift) - math.expm1(shift - e))
        law, other = (
            np.array([1 - q, q]),
            np.array([(1 - q) * math.exp(shift), q * math.exp(shift - e)]),
        )
        worst = max(worst, *(divergence(law, other / other.sum(), a) / a for a in ALPHAS))
    assert 0.95 * rho <= worst <= rho * (1 + 1e-9)


def test_fifty_draws_at_a_fifth_cost_a_quarter_in_rho() -> None:
    fifty = Guarantee.bounded_range(Fraction(1, 5), Adjacency.REPLACE, times=50)
    assert fifty.epsilon == 10
    assert float(fifty.rho or 0) == pytest.approx(0.24986, rel=1e-4)
    rho = float(fifty.rho or 0)
    assert rho + 2 * math.sqrt(rho * math.log(1e6)) == pytest.approx(3.97, abs=0.01)


@pytest.mark.parametrize("bound", [Fraction(1, 3), Fraction(1, 10**40), Fraction(2)])
def test_rounding_up_is_by_less_than_two_to_the_minus_96(bound: Fraction) -> None:
    assert bound <= round_up(bound) < bound + Fraction(1, 2**96)


def test_nothing_costs_nothing() -> None:
    assert pure_rho(Fraction(0)) == bounded_range_rho(Fraction(0)) == 0


@pytest.mark.parametrize(
    "claim",
    [(None, None, 0), (-1, None, 0), (1, -1, 0), (1, None, 1), (1, None, -1)],
)
def test_an_impossible_guarantee_is_refused(claim: tuple[int, int, int]) -> None:
    with pytest.raises(ParameterError):
        Guarantee(*claim, Adjacency.REPLACE)  # type: ignore[arg-type]  # a wrong type is the point


def test_other_kinds_claim_what_they_have() -> None:
    approximate = Guarantee.approximate(Fraction(1), Fraction(1, 10**6), Adjacency.REPLACE)
    gaussian = Guarantee.concentrated(Fraction(1, 2), Adjacency.ADD_REMOVE)
    assert (approximate.rho, gaussian.epsilon) == (None, None)


def test_a_replacement_is_one_step_or_two() -> None:
    assert parse_adjacency("replace").rows_replaced == 1
    assert parse_adjacency("add/remove").rows_replaced == 2
