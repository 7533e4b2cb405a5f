"""The certified laws are the papers' laws, written a second way or enumerated."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from deniable_central.pmf import Pmf
from deniable_central.selection import (
    Exponential,
    NoiseDistribution,
    NoisyMax,
    PermuteAndFlip,
    TopK,
    privacy_parameters,
)
from deniable_shared.errors import ParameterError
from support.tiers import by_tier

ONE = privacy_parameters(epsilon=1, sensitivity=1)
BOXES = list(itertools.product(range(4), repeat=3))


def weights(scores: tuple[int, ...], rate: float = 0.5) -> list[float]:
    return [math.exp(rate * (s - max(scores))) for s in scores]


@pytest.mark.parametrize("noise", [None, NoiseDistribution.GUMBEL])
def test_exponential_and_gumbel_are_the_softmax_of_half_epsilon(
    noise: NoiseDistribution | None,
) -> None:
    law = Exponential(ONE) if noise is None else NoisyMax(ONE, noise)
    for scores in BOXES:
        w = np.array(weights(scores))
        assert law.pmf(scores).probabilities == pytest.approx(w / w.sum(), rel=1e-12)


@pytest.mark.parametrize("noise", [None, NoiseDistribution.EXPONENTIAL])
def test_permute_and_flip_is_its_pseudocode_over_all_permutations(
    noise: NoiseDistribution | None,
) -> None:
    law = PermuteAndFlip(ONE) if noise is None else NoisyMax(ONE, noise)
    for scores in BOXES:
        p, chance = weights(scores), np.zeros(3)
        for order in itertools.permutations(range(3)):
            missed = 1 / 6
            for r in order:
                chance[r] += missed * p[r]
                missed *= 1 - p[r]
        assert law.pmf(scores).probabilities == pytest.approx(chance, rel=1e-12)


@pytest.mark.slow
def test_geometric_noisy_max_is_a_double_sum_over_the_noise() -> None:
    rate, reach = 0.5, 80
    ks = np.arange(-reach, reach + 1)
    z = math.exp(-rate)
    noise = (1 - z) / (1 + z) * z ** np.abs(ks)
    joint = np.multiply.outer(noise, noise)
    for gap in range(4):
        first = ks[:, None] + gap - ks[None, :]
        wins = joint[first > 0].sum() + joint[first == 0].sum() / 2
        law = NoisyMax(ONE, NoiseDistribution.GEOMETRIC).pmf([gap, 0])
        assert law.probabilities[0] == pytest.approx(wins, rel=1e-12)


def test_top_two_draws_from_those_that_are_left() -> None:
    w = weights((0, 2, 5), rate=0.25)
    law = TopK(ONE, 2).pmf([0, 2, 5])
    for (i, j), chance in zip(law.outcomes, law.probabilities, strict=True):
        assert chance == pytest.approx(w[i] / sum(w) * w[j] / (sum(w) - w[i]), rel=1e-12)


@pytest.mark.parametrize(
    "law",
    [
        Exponential(ONE),
        PermuteAndFlip(ONE),
        NoisyMax(ONE, NoiseDistribution.GEOMETRIC),
        TopK(ONE, 2),
    ],
)
def test_certified_bounds_enclose_one_and_lie_close(law: Exponential) -> None:
    pmf: Pmf[int] = law.pmf([0, 1, 7])
    assert sum(pmf.lower) <= 1 <= sum(pmf.upper)
    assert max(high - low for low, high in zip(pmf.lower, pmf.upper, strict=True)) < 2**-100


def test_every_candidate_stays_possible_however_far_below() -> None:
    for law in (Exponential(ONE), PermuteAndFlip(ONE)):
        assert min(law.pmf([0, 5_000]).lower) > 0


def test_permute_and_flip_is_never_worse_on_average() -> None:
    for scores in BOXES:
        flip, exponential = (
            law.pmf(scores).probabilities @ np.array(scores)
            for law in (PermuteAndFlip(ONE), Exponential(ONE))
        )
        assert flip >= exponential - 1e-12


def test_a_law_of_too_many_steps_is_refused_and_says_so() -> None:
    with pytest.raises(ParameterError, match="fewer candidates"):
        PermuteAndFlip(ONE).pmf(range(1000))


@pytest.mark.deeper
@pytest.mark.slow
def test_the_law_of_very_many_candidates_adds_up() -> None:
    law = Exponential(ONE).pmf(np.arange(by_tier(10_000, 100_000)) % 50)
    assert law.probabilities.sum() == pytest.approx(1, rel=1e-12)
