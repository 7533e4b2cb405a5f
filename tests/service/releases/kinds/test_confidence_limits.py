"""Intervals of released frequencies hold where labels are rare and reports few: exact sums."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from deniable_aggregator.releases.kinds import prepare
from deniable_aggregator.releases.kinds.allocation_rounds import DemandRound, limits
from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from support.builders.release_contexts import context
from support.builders.small_mechanisms import mechanism
from support.tiers import grid, rows

LEAST_COVERAGE = 0.945
WORST = [(5, "4", "2", 100), (5, "4", "10", 100), (50, "6", "20", 2_000), (20, "6", "2", 1_000)]
"""Labels, local ε, ε of the release, reports: 0.936, 0.915, 0.925 and 0.939 with Wald's limits."""

MORE = [(2, "1", "1", 30), (3, "0.5", "0.1", 500), (20, "2", "1", 5_000), (8, "8", "5", 40)]
FREQUENCIES = (0.0, 0.0005, 0.0024, 0.008, 0.043, 0.2, 0.5, 0.9, 1.0)


@cache
def released_by(labels: int, epsilon: str, released: str, n: int) -> Any:
    return prepare(
        "histogram", {"epsilon": released}, context(mechanism("grr/1", labels, epsilon), n)
    )


def law_of(
    labels: int, epsilon: str, released: str, n: int, frequency: float
) -> tuple[Any, Any, Any]:
    """All noisy counts of one label but for 1e-9, their probabilities, and the release."""
    release = released_by(labels, epsilon, released, n)
    built = release.label_counts.context.mechanism
    support = float(built.q) + float(built.p - built.q) * frequency
    z = math.exp(-float(release.decay))
    far = math.ceil(25 / float(release.decay)) + 1
    noise = np.arange(-far, far + 1)
    counts = np.arange(n + 1)
    chances = np.convolve(
        binom.pmf(counts, n, support), (1 - z) / (1 + z) * z ** np.abs(noise).astype(float)
    )
    return np.arange(-far, n + far + 1), chances, release


@cache
def limits_of(release: Any, first: int, last: int) -> Any:
    """Those of all noisy counts from the first to the last, whatever the frequency is."""
    noisy = np.arange(first, last + 1)
    return release._law.limits(release.label_counts.frequencies(noisy), 0.95)


@cache
def limits_of_a_round(release: Any, first: int, last: int) -> Any:
    """Those of one round of an allocation with the same noise."""
    counts = LabelCounts.of(release.label_counts.context)
    round = DemandRound(1, counts, np.arange(first, last + 1))
    return limits([round], Fraction(release.decay), alone=True)


@pytest.mark.slow
@pytest.mark.parametrize("frequency", grid(FREQUENCIES, by_default=[0.0024, 0.5]))
@pytest.mark.parametrize(
    ("labels", "epsilon", "released", "n"), rows([*WORST, *MORE], by_default=[WORST[1], MORE[-1]])
)
def test_a_frequency_is_covered_as_often_as_said(
    labels: int, epsilon: str, released: str, n: int, frequency: float
) -> None:
    noisy, chances, release = law_of(labels, epsilon, released, n, frequency)
    lower, upper = limits_of(release, noisy[0], noisy[-1])
    assert chances.sum() == pytest.approx(1, abs=1e-6)
    assert chances[(lower <= frequency) & (frequency <= upper)].sum() >= LEAST_COVERAGE


@pytest.mark.parametrize("frequency", [0.1, 0.5])
def test_intervals_of_many_reports_are_no_wider_than_normal_ones(frequency: float) -> None:
    labels, n = 20, 20_000
    noisy, chances, release = law_of(labels, "2", "2", n, frequency)
    estimates = release.label_counts.frequencies(noisy)
    lower, upper = release._law.limits(estimates, 0.95)
    deviation = math.sqrt(chances @ estimates**2 - (chances @ estimates) ** 2)
    width = chances @ (upper - lower)
    assert width <= 1.02 * 2 * 1.96 * deviation


@pytest.mark.slow
def test_limits_grow_with_the_estimate_and_hold_it() -> None:
    noisy, _, release = law_of(5, "4", "10", 100, 0.0)
    estimates = release.label_counts.frequencies(noisy)
    lower, upper = release._law.limits(estimates, 0.95)
    assert (np.diff(lower) >= -1e-9).all()
    assert (np.diff(upper) >= -1e-9).all()
    shares = np.clip(estimates, 0, 1)
    assert (lower <= shares + 1e-9).all()
    assert (shares <= upper + 1e-9).all()


def test_many_labels_are_solved_on_a_grid_of_some() -> None:
    _, _, release = law_of(5, "2", "1", 50_000, 0.0)
    estimates = np.linspace(-0.01, 1.01, 5_000)
    lower, upper = release._law.limits(estimates, 0.95)
    alone = release._law.limits(estimates[[7, 2_500, 4_990]], 0.95)
    assert lower[[7, 2_500, 4_990]] == pytest.approx(alone[0], abs=1e-4)
    assert upper[[7, 2_500, 4_990]] == pytest.approx(alone[1], abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("frequency", grid([0.0, 0.0024, 0.043], by_default=[0.0024]))
@pytest.mark.parametrize(
    ("labels", "epsilon", "released", "n"), rows(WORST, by_default=WORST[1::2])
)
def test_one_round_of_an_allocation_is_covered_as_often(
    labels: int, epsilon: str, released: str, n: int, frequency: float
) -> None:
    noisy, chances, release = law_of(labels, epsilon, released, n, frequency)
    lower, upper = limits_of_a_round(release, noisy[0], noisy[-1])
    assert chances[(lower <= frequency) & (frequency <= upper)].sum() >= LEAST_COVERAGE
