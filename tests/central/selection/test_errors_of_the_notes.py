"""Known mistakes about selection in lecture notes: a check finds each one.

    where        printed                                       correct
    notes, EM    normaliser dropped: e^(εs/Δ) costs ε          ε/2 from each side: e^(εs/2Δ)
    notes        ε vanishes from the noise                     decay ε/D
    notes        sensitivity of one pair                       the largest over all neighbours
    notes        three neighbour relations, one formula        adjacency is declared
    notes        e^(εs) and e^(εs/2Δ) under one name           the argument is a budget
    notes        E[u(x)] ≥ e^ε E[u(x')]                        e^−ε, and only for u ≥ 0
    notes        factor 2 where all scores move together       the range sensitivity
    notes        signs lost: e^(εt)/μ(S_t)                     e^(−εt)/μ(S_t)
    notes        mean by measure for any scores                refused below 0
    notes        score +max error favours the worst            −max error

The name of each test says what is correct.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable_central.pmf import Pmf
from deniable_central.selection import (
    Exponential,
    NoiseDistribution,
    NoisyMax,
    mean_shortfall_by_measure,
    privacy_parameters,
    tail_by_measure,
)
from deniable_central.selection.exact_pmf import noisy_max_pmf
from deniable_shared.errors import ParameterError
from support.mutants.selection import (
    EITHER_WAY,
    ONE,
    TOGETHER,
    Wrong,
    exponential_with,
    found_out,
    upside_down,
)
from support.oracles.selection_checks import (
    check_prefers_high_scores,
    check_private,
    check_tight,
    data_sets,
    far_apart,
    moved,
    replaced,
)

pytestmark = pytest.mark.exhaustive


def test_a_weight_of_e_to_the_epsilon_per_sensitivity_costs_two_epsilon() -> None:
    pairs = list(moved(EITHER_WAY))
    check_private(Exponential(ONE), pairs)
    found_out(check_private, exponential_with(Fraction(1), ONE), pairs)


def test_noise_without_epsilon() -> None:
    small, pairs = (
        privacy_parameters(epsilon="0.5", sensitivity=1),
        list(moved(EITHER_WAY, height=0)),
    )
    check_private(NoisyMax(small, NoiseDistribution.GEOMETRIC), pairs)
    claimed = NoisyMax(small, NoiseDistribution.GEOMETRIC).guarantee
    forgetful = Wrong(claimed, lambda scores: noisy_max_pmf(scores, Fraction(1, 2)))
    found_out(check_private, forgetful, pairs)


PRICES = np.array([1, 2, 3])


class Revenue:
    """price · number of bids at least the price, for bids of 0 to 3 given as a histogram."""

    def __init__(self, sensitivity: int) -> None:
        self.mechanism = Exponential(privacy_parameters(epsilon=1, range_sensitivity=sensitivity))
        self.guarantee = self.mechanism.guarantee

    def pmf(self, histogram: Any) -> Pmf[int]:
        willing = np.cumsum(np.asarray(histogram)[::-1])[::-1][1:]
        return self.mechanism.pmf(PRICES * willing)


def test_a_sensitivity_is_the_largest_over_all_neighbours() -> None:
    pairs = [(x, y) for x in data_sets(4, 3) for y in replaced(x)]
    check_private(Revenue(3), pairs)
    found_out(check_private, Revenue(1), pairs)  # what one bid moves the price of 1


def test_the_noise_of_one_relation_does_not_do_for_another() -> None:
    pairs = [(x, y) for n in range(1, 5) for x in data_sets(3, n) for y in replaced(x)]
    added = Exponential(
        privacy_parameters(epsilon=1, sensitivity=1, monotone=True, adjacency="add/remove")
    )
    check_private(Exponential(ONE), pairs)
    found_out(check_private, added, pairs)


def test_a_temperature_is_not_a_budget() -> None:
    wide = privacy_parameters(epsilon=1, sensitivity=3)
    pairs = list(moved((-3, 3), height=0))
    check_private(Exponential(wide), pairs)
    found_out(check_private, exponential_with(Fraction(1), wide), pairs)


def check_expectation(sign: int, utility: tuple[float, ...]) -> None:
    """E[u(M(x))] ≥ e^(sign·ε) E[u(M(x'))] for all neighbours."""
    for one, other in moved(EITHER_WAY, height=1):
        p, q = (Exponential(ONE).pmf(scores).probabilities for scores in (one, other))
        assert p @ utility >= math.exp(sign) * (q @ utility) - 1e-9


def test_privacy_bounds_an_expectation_from_below_and_only_if_positive() -> None:
    check_expectation(-1, (1.0, 0.0, 0.3))
    found_out(check_expectation, +1, (1.0, 0.0, 0.3))
    found_out(check_expectation, -1, (-1.0, 0.0, -0.3))


def test_scores_that_move_together_need_half_the_noise() -> None:
    pairs = list(far_apart(TOGETHER))
    check_tight(Exponential(privacy_parameters(epsilon=1, range_sensitivity=1)), pairs)
    found_out(check_tight, Exponential(ONE), pairs)


def check_tail(bound: Callable[[float, float], float]) -> None:
    """It holds for all small vectors, and says something for some."""
    law, said = Exponential(privacy_parameters(epsilon=8, sensitivity=1)), []
    for scores in itertools.product(range(0, 8, 2), repeat=3):
        short = max(scores) - np.array(scores)
        for t in (0.5, 1.5, 3.0):
            said.append(bound(t, float((short < t).mean())))
            assert law.pmf(scores).probabilities[short >= 2 * t].sum() <= said[-1]
    assert min(said) < 0.1


def test_a_tail_falls() -> None:
    sharp = privacy_parameters(epsilon=8, sensitivity=1)
    check_tail(lambda t, share: tail_by_measure(sharp, t=t, share=share))
    found_out(check_tail, lambda t, share: math.exp(4 * t) / share)


NANO = Fraction(1, 10**9)
TEMPERATURE_ONE = privacy_parameters(epsilon=2, sensitivity=10**9)  # scores in billionths


def check_mean_by_measure(statement: Callable[..., float]) -> None:
    """Scores 10^−9 and −1, measure 10^−6 and the rest, decay 1, t = 0.001: true, or refused."""
    law = Exponential.of(TEMPERATURE_ONE, [1, 10**6 - 1])
    mean = float(law.pmf([1, -(10**9)]).probabilities @ [1e-9, -1.0])
    unit = privacy_parameters(epsilon=2, sensitivity=1)
    try:
        most = statement(unit, t=1e-3, share=1e-6, best_score=1e-9, least_score=-1.0)
    except ParameterError:
        return
    assert mean >= 1e-9 - most


def test_the_mean_by_measure_needs_scores_that_are_not_negative() -> None:
    check_mean_by_measure(mean_shortfall_by_measure)
    found_out(check_mean_by_measure, lambda _, t, **given: 3 * t)


def test_the_best_is_preferred_to_the_worst() -> None:
    check_prefers_high_scores(Exponential(ONE))
    found_out(check_prefers_high_scores, upside_down(Exponential(ONE)))
