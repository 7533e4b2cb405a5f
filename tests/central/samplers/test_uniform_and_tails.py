"""Exact uniform draws in bulk, and the certified tails of geometric noise."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from deniable_central.pmf import Pmf
from deniable_central.samplers.noise import probability, tail, tail_quantile
from deniable_central.samplers.uniform import (
    uniform_integers,
    uniform_multisets,
    uniform_order,
)
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins
from support.doubles.chosen_coins import Counted, Fixed
from support.oracles.selection_checks import check_follows

DECAYS = [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(20)]


@pytest.mark.statistical
@pytest.mark.parametrize("bound", [1, 2, 3, 200, 256, 257])
def test_every_integer_below_the_bound_is_as_likely(bound: int) -> None:
    """30,000 draws, chi-square at 10^−6."""
    alike = (Fraction(1, bound),) * bound
    drawn = iter(uniform_integers(bound, 30_000, Coins.system()).tolist())
    check_follows(lambda: next(drawn), Pmf(tuple(range(bound)), alike, alike), draws=30_000)


@pytest.mark.parametrize("bound", [1, 255, 256, 2**16 + 1, 2**40, 2**63])
def test_no_integer_reaches_the_bound(bound: int) -> None:
    drawn = uniform_integers(bound, 1000, Coins.system())
    assert drawn.min() >= 0
    assert drawn.max() < bound
    assert len(drawn) == 1000


def test_a_drawn_integer_at_the_bound_is_drawn_again() -> None:
    coins = Fixed(bytes([7, 250, 3, 6]), rest=4)
    assert uniform_integers(7, 3, coins).tolist() == [2, 3, 6]  # 7 & 7 = 7 is out, 250 & 7 = 2
    assert coins.read == 4


@pytest.mark.parametrize("bound", [0, 2**63 + 1])
def test_impossible_bounds_are_refused(bound: int) -> None:
    with pytest.raises(ParameterError, match="bound must lie in"):
        uniform_integers(bound, 1, Coins.system())


@pytest.mark.statistical
def test_every_order_is_as_likely() -> None:
    """12,000 orders of 3, chi-square at 10^−6."""
    orders = tuple(permutations(range(3)))
    alike, coins = (Fraction(1, 6),) * 6, Coins.system()
    check_follows(
        lambda: tuple(uniform_order(3, coins).tolist()), Pmf(orders, alike, alike), draws=12_000
    )


def test_equal_keys_are_drawn_again() -> None:
    coins = Fixed(bytes(16) + bytes(8) + bytes([1]) * 8)
    assert sorted(uniform_order(2, coins).tolist()) == [0, 1]
    assert coins.read == 32


def test_drawing_multisets_reads_the_same_for_every_outcome() -> None:
    reads = set()
    for _ in range(5):
        coins = Counted()
        drawn = uniform_multisets(13, 4, 100, coins)  # 16 places: powers of two come up too
        assert (np.diff(drawn, axis=1) >= 0).all()
        assert drawn.min() >= 0
        assert drawn.max() <= 12
        reads.add(coins.read >= 400)
    assert reads == {True}


@pytest.mark.parametrize("decay", DECAYS)
def test_tails_and_points_add_up(decay: Fraction) -> None:
    for k in range(-5, 6):
        low, high = tail(decay, k)
        assert low <= high <= low + Fraction(1, 2**180)
        at_low, at_high = probability(decay, k)
        next_low, next_high = tail(decay, k + 1)
        assert low <= next_high + at_high
        assert next_low + at_low <= high
        z = math.exp(-decay)
        assert float(at_low) == pytest.approx((1 - z) / (1 + z) * z ** abs(k))


@pytest.mark.parametrize("decay", DECAYS)
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-9])
def test_a_reach_is_the_least_that_holds_all_but_beta(decay: Fraction, beta: float) -> None:
    t = tail_quantile(decay, beta)
    assert 2 * tail(decay, t + 1)[1] <= beta
    if t:
        assert 2 * tail(decay, t)[0] > beta * (1 - 1e-9)


@pytest.mark.parametrize("beta", [0.0, 1.0])
def test_a_reach_for_certain_is_refused(beta: float) -> None:
    with pytest.raises(ParameterError, match="beta must lie in"):
        tail_quantile(Fraction(1), beta)
