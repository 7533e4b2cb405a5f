"""What selection promises about the score: every statement against certified laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from deniable_central.selection import (
    Exponential,
    NoiseDistribution,
    NoisyMax,
    PermuteAndFlip,
    TopK,
    epsilon_for,
    mean_shortfall,
    mean_shortfall_by_measure,
    on_grid,
    privacy_parameters,
    shortfall,
    tail_by_measure,
)
from deniable_central.selection.accuracy import geometric_tail_length
from deniable_shared.errors import ParameterError
from support.tiers import by_tier, rows

ONE = privacy_parameters(epsilon=1, sensitivity=1)
SHARP = privacy_parameters(epsilon=8, sensitivity=1)
BOXES = list(itertools.product(range(0, 8, 2), repeat=4))


@pytest.mark.parametrize("law", [Exponential(SHARP), PermuteAndFlip(SHARP)])
def test_the_tail_holds_for_every_small_vector(law: Exponential) -> None:
    for scores in BOXES:
        short = max(scores) - np.array(scores)
        best = int((short == 0).sum())
        chances = law.pmf(scores).probabilities
        for beta in (0.3, 0.05, 0.001):
            bound = shortfall(SHARP, candidates=4, beta=beta, best=best)
            assert chances[short >= bound].sum() <= beta


@pytest.mark.parametrize("law", [Exponential(ONE), PermuteAndFlip(ONE)])
def test_the_mean_holds_for_every_small_vector(law: Exponential) -> None:
    for scores in BOXES:
        short = max(scores) - np.array(scores)
        best = int((short == 0).sum())
        mean = law.pmf(scores).probabilities @ short
        assert mean <= mean_shortfall(ONE, candidates=4, best=best) + 1e-12


def test_the_textbook_figure_is_twice_the_sensitivity_over_epsilon() -> None:
    expected = 2 * 3 / 0.5 * math.log(100 / 0.05)
    bound = shortfall(privacy_parameters(epsilon="0.5", sensitivity=3), candidates=100, beta=0.05)
    assert bound == pytest.approx(expected)
    assert bound >= expected


def test_a_range_sensitivity_halves_the_shortfall() -> None:
    apart = privacy_parameters(epsilon=1, range_sensitivity=1)
    assert shortfall(apart, candidates=9, beta=0.1) == pytest.approx(
        shortfall(ONE, candidates=9, beta=0.1) / 2
    )


def test_epsilon_for_a_shortfall_gives_that_shortfall() -> None:
    epsilon = epsilon_for(20.0, ONE, candidates=1000, beta=0.01)
    planned = shortfall(ONE, candidates=1000, beta=0.01) / epsilon
    assert planned == pytest.approx(20.0)
    assert epsilon_for(20.0, SHARP, candidates=1000, beta=0.01) == pytest.approx(epsilon)


def test_the_tail_of_a_measure_holds_for_every_small_vector() -> None:
    measure = np.array([1, 5, 2, 9])
    for scores in BOXES:
        chances = Exponential.of(SHARP, measure).pmf(scores).probabilities
        short = max(scores) - np.array(scores)
        for t in (0.5, 1.5, 3.0):
            share = measure[short < t].sum() / measure.sum()
            assert chances[short >= 2 * t].sum() <= tail_by_measure(SHARP, t=t, share=share)


def test_the_mean_of_a_measure_holds_wherever_t_is_large_enough() -> None:
    measure, held = np.array([1, 5, 2, 9]), 0
    for scores in BOXES[1:]:
        chances = Exponential.of(SHARP, measure).pmf(scores).probabilities
        short = max(scores) - np.array(scores)
        for t in (0.5, 1.0, 2.0):
            share = measure[short < t].sum() / measure.sum()
            if math.log(max(scores) / (t * share)) / 4 <= t * (1 - 1e-9):
                most = mean_shortfall_by_measure(
                    SHARP, t=t, share=share, best_score=max(scores), least_score=0
                )
                held += 1
                assert chances @ short <= most
    assert held > 100


def test_the_mean_of_a_measure_is_refused_where_t_is_too_small() -> None:
    with pytest.raises(ParameterError, match="t must be at least"):
        mean_shortfall_by_measure(ONE, t=0.1, share=0.01, best_score=9, least_score=0)


@pytest.mark.deeper
@pytest.mark.parametrize(
    ("chosen", "epsilon"),
    rows(
        itertools.product(["exponential", "flip", "geometric", "weighed"], ["1", "5"]),
        by_default=lambda row: row != ("geometric", "1"),
    ),
)
def test_the_error_bar_of_a_release_covers_every_small_vector(chosen: str, epsilon: str) -> None:
    privacy = privacy_parameters(epsilon=epsilon, range_sensitivity=1)
    laws: dict[str, Exponential | PermuteAndFlip | NoisyMax] = {
        "exponential": Exponential(privacy),
        "flip": PermuteAndFlip(privacy),
        "geometric": NoisyMax(privacy, NoiseDistribution.GEOMETRIC),
        "weighed": Exponential.of(privacy, [1, 4, 2]),
    }
    law = laws[chosen]
    for scores in list(itertools.product(range(0, 12, 4), repeat=3))[:: by_tier(2, 1)]:
        upper = law.release(scores).error_bars[0].upper
        short = max(scores) - np.array(scores)
        assert upper is not None
        assert law.pmf(scores).probabilities[short > upper].sum() <= 0.05


def test_the_error_bars_of_top_k_hold_together() -> None:
    law = TopK(privacy_parameters(epsilon=8, sensitivity=1), 2)
    for scores in itertools.product(range(0, 40, 13), repeat=3):
        upper = law.release(scores).error_bars[0].upper
        pmf, missed = law.pmf(scores), 0.0
        for (i, j), chance in zip(pmf.outcomes, pmf.probabilities, strict=True):
            left = [s for r, s in enumerate(scores) if r != i]
            missed += chance * (max(max(scores) - scores[i], max(left) - scores[j]) > (upper or 0))
        assert missed <= 0.05
    assert upper == math.floor(math.log(2 * 3 / 0.05) / 2)  # each pick at ε = 4, the chance shared


def test_the_error_bar_on_a_grid_counts_what_the_floor_hides() -> None:
    values = np.array([0.0, 0.99])
    release = Exponential(ONE).release(on_grid(values, step=1))
    assert release.error_bars[0].upper == math.floor(2 * math.log(2 / 0.05)) + 1


@pytest.mark.parametrize("odds", [2.0, 20.0, 1e6])
def test_the_geometric_tail_is_the_least_that_suffices(odds: float) -> None:
    rate, ks = 0.5, np.arange(-150, 151)
    z = math.exp(-rate)
    noise = (1 - z) / (1 + z) * z ** np.abs(ks)
    gap = np.subtract.outer(ks, ks)
    joint = np.multiply.outer(noise, noise)
    t = geometric_tail_length(ONE.decay(), odds)
    assert joint[gap > t].sum() <= 1 / odds < joint[gap > t - 1].sum()


@pytest.mark.parametrize("beta", [0.0, 1.0, -1.0, math.nan])
def test_a_chance_out_of_range_is_refused(beta: float) -> None:
    with pytest.raises(ParameterError, match="beta must lie in"):
        shortfall(ONE, candidates=2, beta=beta)


def test_impossible_plans_are_refused() -> None:
    with pytest.raises(ParameterError, match="best must lie in"):
        mean_shortfall(ONE, candidates=2, best=3)
    with pytest.raises(ParameterError, match="shortfall must be positive"):
        epsilon_for(0.0, ONE, candidates=2, beta=0.1)
    with pytest.raises(ParameterError, match="share must lie in"):
        tail_by_measure(ONE, t=1.0, share=0.0)
    with pytest.raises(ParameterError, match="t must be positive"):
        tail_by_measure(ONE, t=0.0, share=0.5)
