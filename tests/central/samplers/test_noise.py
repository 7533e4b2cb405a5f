"""Exact coins: each law in closed form, floats that prove what they decide, no state behind."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from deniable_central.pmf import Pmf
from deniable_central.samplers import noise
from deniable_central.samplers.noise import (
    LazyUniform,
    bernoulli_exp,
    decay_bracket,
    discrete_gaussian,
    two_sided_geometric,
)
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins
from support.doubles.chosen_coins import Fixed, word
from support.oracles.selection_checks import FALSE_ALARM, p_value

DECAYS = [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(20)]


def geometric_pmf(decay: Fraction, reach: int) -> Pmf[int]:
    z = math.exp(-decay)
    ks = range(-reach, reach + 1)
    chances = tuple(Fraction((1 - z) / (1 + z) * z ** abs(k)) for k in ks)
    return Pmf(tuple(ks), chances, chances)


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 10**9), Fraction(1), Fraction(90)])
@pytest.mark.parametrize("bits", [8, 64, 300])
def test_a_bracket_encloses_the_exponential(exponent: Fraction, bits: int) -> None:
    low, high = decay_bracket(exponent, bits)
    finer_low, finer_high = decay_bracket(exponent, bits + 100)
    assert low << 100 <= finer_low <= finer_high <= high << 100
    assert high - low <= 3


def test_a_coin_is_tossed_at_the_64th_bit_of_its_chance() -> None:
    low, high = decay_bracket(Fraction(1, 3), 64)
    assert bernoulli_exp(Fraction(1, 3), Fixed(word(low - 1)))
    assert not bernoulli_exp(Fraction(1, 3), Fixed(word(high)))


def test_bits_that_do_not_decide_are_followed_by_more() -> None:
    low, _ = decay_bracket(Fraction(1, 3), 64)
    below, above = Fixed(word(low), rest=0), Fixed(word(low), rest=255)
    assert bernoulli_exp(Fraction(1, 3), below)
    assert not bernoulli_exp(Fraction(1, 3), above)
    assert below.read == above.read == 16


def test_certain_and_all_but_impossible_coins() -> None:
    assert bernoulli_exp(Fraction(0), Fixed(rest=255))
    assert bernoulli_exp(Fraction(1000), Fixed(rest=0))
    assert not bernoulli_exp(Fraction(1000), Fixed(word(1)))
    with pytest.raises(ParameterError, match="at least 0"):
        bernoulli_exp(Fraction(-1), Fixed())


@pytest.mark.statistical
def test_a_thousand_coins_show_heads_as_often_as_they_should() -> None:
    coins = Coins.system()
    heads = [bernoulli_exp(Fraction(3, 2), coins) for _ in range(20_000)]  # rejected at 1e-6
    chance = (Fraction(math.exp(-1.5)), 1 - Fraction(math.exp(-1.5)))
    assert p_value(heads, Pmf((True, False), chance, chance)) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("decay", DECAYS)
def test_geometric_noise_follows_its_law(decay: Fraction) -> None:
    draws = two_sided_geometric(decay, 50_000).tolist()  # chi-square, rejected at 1e-6
    reach = max(*map(abs, draws), math.ceil(30 / decay))
    assert p_value(draws, geometric_pmf(decay, reach)) > FALSE_ALARM


@pytest.mark.parametrize("decay", DECAYS)
def test_neighbouring_integers_are_e_to_the_decay_apart(decay: Fraction) -> None:
    tails = [noise._tail_bracket(decay, k, 600)[0] for k in range(1, 13)]
    law = [float(Fraction(one - other, 1 << 600)) for one, other in pairwise(tails)]
    steps = [one / other for one, other in pairwise(law)]
    assert steps == pytest.approx([math.exp(decay)] * len(steps), rel=1e-9)
    middle = 1 - float(Fraction(tails[0], 1 << 600))  # Pr[N = 0], and law[0] has 2 Pr[N = 1]
    assert middle / (law[0] / 2) == pytest.approx(math.exp(decay), rel=1e-9)


@pytest.mark.parametrize("decay", [Fraction(1, 3), Fraction(1, 10**9), Fraction(1, 2**50)])
def test_floats_and_integers_find_the_same_noise(decay: Fraction) -> None:
    words = [int.from_bytes(os.urandom(8), "big") for _ in range(40)] + [0, 1, 2, 3, 2**64 - 1]
    for drawn in words:
        sign = -1 if drawn & 1 else 1
        uniform = LazyUniform(Fixed(rest=1), bits=drawn >> 1, size=63)
        expected = sign * noise._exact_magnitude(decay, uniform)
        assert two_sided_geometric(decay, 1, Fixed(word(drawn), rest=1)).tolist() == [expected]


@pytest.mark.parametrize("decay", [Fraction(1, 3), Fraction(1, 100), Fraction(2)])
def test_floats_never_decide_at_an_edge_of_the_law(decay: Fraction) -> None:
    for k in (1, 2, 7):
        low, high = noise._tail_bracket(decay, k, 63)
        halves = np.arange(low - 2, high + 3, dtype=np.uint64)
        magnitudes, doubtful = noise._magnitudes(decay, halves)
        for place, half in enumerate(halves.tolist()):
            sure = k if half < low else k - 1
            assert magnitudes[place] == sure or place in doubtful


def test_ten_thousand_draws_are_almost_never_in_doubt() -> None:
    halves = np.frombuffer(os.urandom(80_000), dtype=np.uint64) >> np.uint64(1)
    assert len(noise._magnitudes(Fraction(1, 10), halves)[1]) == 0  # expected 1e-8


def test_noise_reaches_far_out() -> None:
    coins = Fixed(bytes(24), rest=1)  # U below 2^−190
    assert two_sided_geometric(Fraction(1), 1, coins)[0] > 100


@pytest.mark.parametrize("decay", [Fraction(0), Fraction(-1), Fraction(1, 2**51), Fraction(2**51)])
def test_a_decay_out_of_range_is_refused(decay: Fraction) -> None:
    with pytest.raises(ParameterError, match="decay must lie in"):
        two_sided_geometric(decay, 1)


def test_no_released_count_is_possible_for_one_neighbour_only() -> None:
    released = np.array([0, 1])[:, None] + two_sided_geometric(Fraction(1), 10_000)
    assert released.dtype == np.int64  # whole numbers, and the law gives each a chance


@pytest.mark.statistical
@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(9), Fraction(250, 3)])
def test_discrete_gaussian_noise_follows_its_law(variance: Fraction) -> None:
    draws = discrete_gaussian(variance, 6_000).tolist()  # chi-square, rejected at 1e-6
    reach = max(*map(abs, draws), math.ceil(12 * math.sqrt(variance)))
    ks = np.arange(-reach, reach + 1)
    weights = np.exp(-(ks**2) / (2 * float(variance)))
    chances = tuple(map(Fraction, weights / weights.sum()))
    assert p_value(draws, Pmf(tuple(ks.tolist()), chances, chances)) > FALSE_ALARM


def test_coins_come_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def entropy(count: int) -> bytes:
        sizes.append(count)
        return bytes(range(count))

    monkeypatch.setattr(os, "urandom", entropy)
    first, again = two_sided_geometric(Fraction(1), 5), two_sided_geometric(Fraction(1), 5)
    assert first.tolist() == again.tolist()
    assert sizes == [40, 40]
