"""Drawing by weight: floats that prove what they decide, integers that decide the rest, one law."""

from __future__ import annotations

import gc
import math
import os
import sys
from collections.abc import Callable
from fractions import Fraction
from types import FrameType
from typing import Any

import numpy as np
import pytest

from deniable_central.samplers import exponential
from deniable_central.samplers.exponential import (
    BLOCK,
    Weights,
    decide_exactly,
    decide_in_floats,
    draw_index,
)
from deniable_central.samplers.noise import LazyUniform, decay_bracket
from deniable_central.samplers.permute_and_flip import draw_among_heads, flip_coins
from deniable_central.scores import Integers
from deniable_central.selection.exact_pmf import exponential_pmf, permute_and_flip_pmf
from deniable_shared.randomness.coins import Coins
from support.doubles.chosen_coins import Counted, Fixed, word
from support.oracles.selection_checks import check_follows, vector

HALF = Fraction(1, 2)
SYSTEM = Coins.system()
LEAST, MOST = -(2**63), 2**63 - 1
TORTURE = {
    "all equal": Weights(vector(7, 7, 7, 7), HALF),
    "one candidate": Weights(vector(-5), HALF),
    "a gap of a million": Weights(vector(0, 1_000_000, 0), HALF),
    "an offset of 1e15": Weights(10**15 + vector(3, 0, 1), HALF),
    "both ends of int64": Weights(vector(LEAST, MOST, LEAST), Fraction(1, 2**40)),
    "wide and told apart": Weights(vector(LEAST, MOST, 0), Fraction(1, 2**63)),
    "a tiny decay": Weights(vector(0, 10, 20), Fraction(1, 10**12)),
    "a tiny measure": Weights(vector(10, 0), HALF, vector(1, 2**62)),
    "a huge decay": Weights(vector(1, 2, 2), Fraction(10**6)),
}


def noise(n: int, bound: int) -> Integers:
    return np.frombuffer(os.urandom(8 * n), dtype=np.uint64).astype(np.int64) % bound


def undecided(_: Weights, __: int) -> None:
    """Forces the exact path."""


@pytest.mark.statistical
@pytest.mark.parametrize("decide", [decide_in_floats, undecided])
@pytest.mark.parametrize("name", TORTURE)
def test_draws_follow_the_certified_law(name: str, decide: exponential.Decision) -> None:
    weights = TORTURE[name]  # chi-square, rejected at 1e-6
    law = exponential_pmf(weights)
    check_follows(lambda: draw_index(weights, SYSTEM, decide=decide), law, draws=4_000)


@pytest.mark.statistical
@pytest.mark.parametrize("n", [BLOCK, BLOCK + 1, 3 * BLOCK, 40 * BLOCK + 7])
def test_draws_follow_the_law_over_blocks(n: int) -> None:
    scores = np.where(np.arange(n) % (n // 8) == n // 16, 8, -8)  # a handful of likely ones
    weights = Weights(scores, Fraction(1), 1 + noise(n, 3))  # chi-square, rejected at 1e-6
    check_follows(lambda: draw_index(weights, SYSTEM), exponential_pmf(weights), draws=2_000)


def edges(weights: Weights, distances: tuple[int, ...]) -> list[int]:
    """First words at some distances from where one candidate ends and the next begins."""
    law = exponential_pmf(weights, bits=256)
    sums = np.cumsum([Fraction(low) for low in law.lower])
    return [int(edge * 2**64) + d for edge in sums[:-1] for d in distances]


@pytest.mark.parametrize(("size", "decay"), [(5, HALF), (8, Fraction(4)), (BLOCK + 20, HALF)])
def test_floats_decide_as_integers_do_or_not_at_all(size: int, decay: Fraction) -> None:
    weights = Weights(noise(size, 12), decay, 1 + noise(size, 5))
    near = edges(weights, (-(2**32), -(2**24), -1, 0, 1, 2**24, 2**32))
    words = near[:: max(1, size // 12)] + noise(50, 2**62).tolist()
    decided = [(drawn, decide_in_floats(weights, drawn)) for drawn in words]
    wrong = [
        drawn
        for drawn, place in decided
        if place is not None
        and place != decide_exactly(weights, LazyUniform(Fixed(rest=1), bits=drawn, size=64))
    ]
    assert wrong == []
    assert [place for _, place in decided[-50:]].count(None) <= 2


class Vague(Weights):
    """Every other bracket says next to nothing until it has 2,000 bits."""

    def brackets(self, bits: int) -> tuple[list[int], list[int]]:
        lows, highs = super().brackets(bits)
        if bits >= 2_000:
            return lows, highs
        odd = [i % 2 for i in range(len(lows))]
        vague_lows = [low - vague * (low >> 3) for vague, low in zip(odd, lows, strict=True)]
        return vague_lows, [h + vague * (h >> 3) for vague, h in zip(odd, highs, strict=True)]


@pytest.mark.slow
def test_integers_do_not_decide_either_before_they_prove_it() -> None:
    scores = vector(2, 1, 0, 2)
    for drawn in (noise(200, 2**62) * 2 + 1).tolist():
        vague, sharp = (LazyUniform(Fixed(rest=7), bits=drawn, size=64) for _ in range(2))
        decided = decide_exactly(Vague(scores, HALF), vague)
        assert decided == decide_exactly(Weights(scores, HALF), sharp)


def test_at_an_edge_floats_are_in_doubt() -> None:
    weights = Weights(vector(0, 1, 2), HALF)
    assert {decide_in_floats(weights, word) for word in edges(weights, (-1, 0, 1))} == {None}
    assert {decide_in_floats(weights, word) for word in edges(weights, (2**32,))} == {1, 2}


def test_the_share_of_draws_in_doubt_is_what_the_module_says() -> None:
    assert 2 * 1_000 * exponential._margin(1_000, 1, 1_000) < 1e-8
    assert 2 * 10**6 * exponential._margin(10**6, 977, BLOCK) < 1e-6


@pytest.mark.slow
def test_the_exponential_of_numpy_is_as_good_as_the_margin_supposes() -> None:
    points = -np.concatenate([np.linspace(0, 700, 400), noise(400, 700_000) / 1000])
    for x, y in zip(points.tolist(), np.exp(points).tolist(), strict=True):
        low, _ = decay_bracket(Fraction(-x), 1200)
        assert abs(Fraction(y) - Fraction(low, 1 << 1200)) <= exponential._EXP_ULP * Fraction(
            math.ulp(y)
        )


@pytest.mark.slow
def test_a_candidate_far_below_the_smallest_float_is_still_drawn() -> None:
    weights = Weights(vector(0, 3_000), HALF)  # e^−1500, while the smallest float is e^−745
    assert draw_index(weights, Fixed(bytes(300), rest=255)) == 0
    assert draw_index(weights, Fixed(bytes(200), rest=255)) == 1


def test_the_last_candidate_is_drawn_too() -> None:
    assert draw_index(Weights(vector(*[0] * 10), HALF), Fixed(rest=255)) == 9
    assert draw_index(Weights(np.zeros(5_000, np.int64), HALF), Fixed(rest=255)) == 4_999


def test_the_smallest_coin_draws_the_first_and_reads_one_word_more_at_most() -> None:
    coins = Fixed(word(0), rest=1)
    assert draw_index(Weights(vector(5, 5, 5), HALF), coins) == 0
    assert coins.read <= 16


@pytest.mark.statistical
@pytest.mark.parametrize("margin", [2.0**-40, 1.0])
@pytest.mark.parametrize("scores", [(0, 0, 0), (0, 1, 2, 2), (0, 500), (-3,), (LEAST, MOST, 0)])
def test_permute_and_flip_draws_follow_their_law(scores: tuple[int, ...], margin: float) -> None:
    levels, coins = vector(*scores), SYSTEM  # chi-square, rejected at 1e-6

    def draw() -> int:
        heads = np.flatnonzero(flip_coins(levels, HALF, coins, margin=margin))
        return int(heads[coins.below(len(heads))])

    check_follows(draw, permute_and_flip_pmf(levels, HALF), draws=3_000)


def test_a_flip_at_the_edge_of_its_chance_is_decided_by_integers() -> None:
    low, high = decay_bracket(HALF, 72)
    for bits, heads in ((low - 1, True), (high, False)):
        first, rest = divmod(bits, 1 << 64)
        coins = Fixed(bytes([first, 255]) + word(rest) + word(0))
        assert flip_coins(vector(0, 1), HALF, coins)[0] == heads


def test_the_top_always_shows_heads() -> None:
    assert flip_coins(np.full(1000, 9), HALF, SYSTEM).all()
    assert flip_coins(vector(4, 9), HALF, Fixed(rest=255)).tolist() == [False, True]


GAPS = [0, 10, 40, 1_000, 10**9, 2**62]


def work(run: Callable[[], object]) -> dict[str, int]:
    """How often each function was called, ours and numpy's: time without a clock."""
    calls: dict[str, int] = {}

    def count(frame: FrameType, event: str, detail: Any) -> None:
        if event in ("call", "c_call"):
            name = frame.f_code.co_qualname if event == "call" else repr(detail)[:40]
            calls[name] = calls.get(name, 0) + 1

    gc.disable()  # a garbage collection in the middle may run callbacks
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


@pytest.mark.parametrize("n", [10, 50_000])
def test_the_work_of_a_draw_does_not_depend_on_the_gap(n: int) -> None:
    coins = Fixed(rest=77)
    spiked = [np.where(np.arange(n) == n // 2, gap, 0) for gap in GAPS]
    done = [work(lambda s=s: draw_index(Weights(s, HALF), coins)) for s in spiked]  # type: ignore[misc]  # mypy infers no lambda with a default
    assert all(other == done[0] for other in done)


@pytest.mark.statistical
def test_the_coins_read_by_permute_and_flip_do_not_depend_on_the_gap() -> None:
    n, read = 200_000, []  # one coin in 256 reads a word more: 6 σ either side, 1e-8 a gap
    for gap in GAPS:
        coins = Counted()
        draw_among_heads(np.where(np.arange(n) == n // 2, gap, 0), HALF, coins)
        read.append(coins.read - n)
    words, spread = n / 256, 6 * math.sqrt(n / 256)
    assert all(abs(extra / 8 - words) < spread + 2 for extra in read)
