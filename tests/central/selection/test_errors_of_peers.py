"""Known mistakes about selection in other libraries and in folklore: a check finds each one.

    where        printed                                       correct
    OpenDP       max returned the minimum                      the largest
    OpenDP       the last one was never randomized             everyone can be drawn
    OpenDP       permute-and-flip charged ε²/8                 ε·tanh(ε/2)
    OpenDP       biased noise                                  no second zero, +0 and −0
    OpenDP       draws until accepted: time leaks the gap     a fixed number of coins
    PipelineDP   no shift: NaN above 709                       only differences count
    diffprivlib  probability 0 far below                       every candidate possible
    diffprivlib  measure 0 crashes in the draw                 refused up front
    SmartNoise   a seedable generator                          the operating system's coins
    RelM         factor ½ dropped, the score not monotone      e^(εs/2Δ)
    folklore     k picks at ε each, called ε                   ε/k each
    folklore     flips in the order of the index               in random order
    folklore     steps of h part scores by ⌈D/h⌉               by one more
    folklore     the release says how far the winner led       a function of the draw

The name of each test says what is correct.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable_central.errors import ScoresError
from deniable_central.pmf import Pmf
from deniable_central.release import ErrorBar, Release
from deniable_central.samplers.exponential import Weights
from deniable_central.samplers.noise import bernoulli_exp, two_sided_geometric
from deniable_central.scores import Integers, on_grid
from deniable_central.selection import (
    Exponential,
    PermuteAndFlip,
    PrivacyParameters,
    TopK,
    privacy_parameters,
)
from deniable_central.selection.exact_pmf import top_k_pmf
from deniable_central.selection.exponential import checked_measure
from deniable_shared.randomness.coins import Coins
from support.doubles.chosen_coins import Counted
from support.mutants.selection import (
    EITHER_WAY,
    ONE,
    Wrong,
    exponential_with,
    found_out,
    upside_down,
)
from support.oracles.selection_checks import (
    Selection,
    check_bounded_range,
    check_concentrated,
    check_follows,
    check_prefers_high_scores,
    check_private,
    check_shift_changes_nothing,
    data_sets,
    far_apart,
    replaced,
    vector,
)

pytestmark = pytest.mark.exhaustive


def test_the_largest_score_is_meant() -> None:
    check_prefers_high_scores(Exponential(ONE))
    found_out(check_prefers_high_scores, upside_down(Exponential(ONE)))


def check_sampler(draw: Callable[[Integers], int]) -> None:
    scores = vector(0, 3, 1, 2)
    check_follows(lambda: draw(scores), Exponential(ONE).pmf(scores), draws=4_000)


@pytest.mark.statistical
def test_the_last_candidate_can_be_drawn() -> None:
    law = Exponential(ONE)  # chi-square, rejected at 1e-6
    check_sampler(lambda scores: law.release(scores).result)
    found_out(check_sampler, lambda scores: law.release(scores[:-1]).result)


def test_permute_and_flip_is_charged_as_any_pure_release() -> None:
    flip, pairs = PermuteAndFlip(privacy_parameters(epsilon=2, sensitivity=1)), [((0, 0), (1, -1))]
    check_concentrated(flip, pairs)
    found_out(check_concentrated, Wrong(Exponential(flip.privacy).guarantee, flip.pmf), pairs)


def check_noise(draw: Callable[[], int]) -> None:
    z = math.exp(-0.5)
    ks = tuple(range(-80, 81))
    chances = tuple(Fraction((1 - z) / (1 + z) * z ** abs(k)) for k in ks)
    check_follows(draw, Pmf(ks, chances, chances), draws=4_000)


def two_zeros() -> int:
    magnitude = 0
    while bernoulli_exp(Fraction(1, 2), Coins.system()):
        magnitude += 1
    return magnitude * (1 - 2 * Coins.system().bits(1))


@pytest.mark.statistical
def test_zero_is_drawn_once() -> None:
    check_noise(lambda: int(two_sided_geometric(Fraction(1, 2), 1)[0]))  # rejected at 1e-6
    found_out(check_noise, two_zeros)


def check_coins(draw: Callable[[Integers, Coins], object]) -> None:
    """A hundred draws read equally much for every gap."""
    read = []
    for gap in (0, 12):
        coins = Counted()
        for _ in range(100):
            draw(vector(0, gap, 0, 0, 0, 0, 0, 0), coins)
        read.append(coins.read)
    assert read[0] == read[1]


def until_accepted(scores: Integers, coins: Coins) -> int:
    while True:
        r = coins.below(len(scores))
        if bernoulli_exp(Fraction(int(scores.max() - scores[r]), 2), coins):
            return r


def test_the_number_of_coins_does_not_tell_the_gap() -> None:
    check_coins(lambda scores, coins: Exponential(ONE).release(scores, coins))
    found_out(check_coins, until_accepted)


def in_floats(shift: bool) -> Wrong:
    def pmf(scores: Any) -> Pmf[int]:
        with np.errstate(over="ignore", invalid="ignore"):
            weights = np.exp((np.asarray(scores) - shift * np.max(scores)) / 2)
            chances = np.nan_to_num(weights / weights.sum())
        exact = tuple(map(Fraction, chances.tolist()))
        return Pmf(tuple(range(len(exact))), exact, exact)

    return Wrong(Exponential(ONE).guarantee, pmf)


def test_large_scores_do_not_overflow() -> None:
    check_shift_changes_nothing(Exponential(ONE))
    found_out(check_shift_changes_nothing, in_floats(shift=False))


def check_support(selection: Selection) -> None:
    assert min(selection.pmf([0, 3_000]).lower) > 0


def test_no_candidate_becomes_impossible() -> None:
    check_support(Exponential(ONE))
    found_out(check_support, in_floats(shift=True))


def check_zero_measure(use: Callable[[Integers], object]) -> None:
    try:
        use(vector(1, 0))
    except ScoresError:
        return
    raise AssertionError("a measure of 0 went through")


def test_a_measure_of_zero_is_refused_before_any_draw() -> None:
    check_zero_measure(checked_measure)
    found_out(check_zero_measure, np.log1p)


def check_entropy(draw: Callable[[], int], patch: pytest.MonkeyPatch) -> None:
    """With one answer from the operating system there is one draw."""
    with patch.context() as patched:
        patched.setattr(os, "urandom", lambda count: bytes([90]) * count)
        assert len({draw() for _ in range(64)}) == 1


def test_no_generator_but_the_operating_systems_decides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_entropy(lambda: Exponential(ONE).release([0] * 9).result, monkeypatch)
    check_entropy(lambda: PermuteAndFlip(ONE).release([0] * 9).result, monkeypatch)
    found_out(check_entropy, lambda: random.choice(range(9)), monkeypatch)


class SmallDatabase:
    """−max over two queries of |count − count of the candidate|: moves either way."""

    def __init__(self, decay: Fraction | None = None) -> None:
        law = Exponential(ONE)
        self.guarantee = law.guarantee
        self._pmf = law.pmf if decay is None else exponential_with(decay, ONE).pmf

    def pmf(self, histogram: Any) -> Pmf[int]:
        candidates = [c for c in itertools.product(range(4), repeat=3) if sum(c) == 3]
        errors = [max(abs(c[0] - histogram[0]), abs(c[1] - histogram[1])) for c in candidates]
        return self._pmf(-np.array(errors))


def test_a_score_that_moves_either_way_needs_the_factor_two() -> None:
    pairs = [(x, y) for x in data_sets(3, 3) for y in replaced(x)]
    check_private(SmallDatabase(), pairs)
    found_out(check_private, SmallDatabase(Fraction(1)), pairs)


def test_k_picks_share_the_budget() -> None:
    pairs = list(far_apart(EITHER_WAY, gap=10))
    check_private(TopK(ONE, 2), pairs)
    each = Wrong(TopK(ONE, 2).guarantee, lambda s: top_k_pmf(Weights(s, ONE.decay()), 2))
    found_out(check_private, each, pairs)


def in_order(scores: Integers) -> int:
    for r, depth in enumerate((scores.max() - scores).tolist()):
        if bernoulli_exp(Fraction(depth, 2), Coins.system()):
            return r
    raise AssertionError("the top always shows heads")


@pytest.mark.statistical
def test_flips_come_in_random_order() -> None:
    scores, law = vector(4, 3, 4), PermuteAndFlip(ONE)  # chi-square, rejected at 1e-6
    check_follows(lambda: law.release(scores).result, law.pmf(scores), draws=2_000)
    found_out(lambda: check_follows(lambda: in_order(scores), law.pmf(scores), draws=2_000))


def check_grid(decay: Callable[[PrivacyParameters, Fraction], Fraction]) -> None:
    """Real scores that move apart by 1, rounded to steps of ½, stay within ε."""
    step, declared = Fraction(1, 2), privacy_parameters(epsilon=1, range_sensitivity=1)
    before, after = [0.0, 0.45], [-0.1, 1.35]  # 0 and 0 steps, then −1 and 2
    rounded = [on_grid(real, step=step) for real in (before, after)]
    pairs = [(tuple(rounded[0].levels.tolist()), tuple(rounded[1].levels.tolist()))]
    check_bounded_range(exponential_with(decay(declared, step), declared), pairs)


def test_a_grid_may_part_scores_by_one_step_more() -> None:
    check_grid(PrivacyParameters.decay)
    found_out(check_grid, lambda declared, step: declared.epsilon * step)


def check_fields(release: Callable[[Integers], Release[int]]) -> None:
    one, other = release(vector(3, 9, 4)), release(vector(4, 8, 4))
    assert dataclasses.replace(one, result=other.result) == other


def telling(scores: Integers) -> Release[int]:
    lead = float(np.diff(np.sort(scores)[-2:])[0])
    bar = ErrorBar("score below the best", 0.0, lead, 0.95)
    return dataclasses.replace(Exponential(ONE).release(scores), error_bars=(bar,))


def test_a_release_does_not_say_how_far_the_winner_led() -> None:
    check_fields(Exponential(ONE).release)
    found_out(check_fields, telling)
