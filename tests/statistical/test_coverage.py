from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from support.oracles.estimator_checks import check_coverage
from support.oracles.exact_coverage import (
    binomial,
    joint_coverage,
    our_limits,
    population_coverage,
    wald_limits,
)
from support.oracles.message_laws import MessageLaw, label, law_of, laws
from support.tiers import by_tier, grid

SIZES = (1, 2, 10, 1000)
MOST_HISTOGRAMS = by_tier(1_000, 2_000)
"""Of a few messages: what is enumerated takes a second at most."""
LAWS = laws(("0.5", "1", "4"), SIZES)


def is_usual(law: MessageLaw) -> bool:
    return law.mechanism.epsilon == 1 and law.labels in (1, 10)


def is_usual_and_small(law: MessageLaw) -> bool:
    return law.mechanism.epsilon == 1 and law.labels == 2 and len(law.messages) <= 4


@pytest.mark.parametrize("law", grid(LAWS, by_default=is_usual), ids=label)
@pytest.mark.parametrize("n", grid([30, 1000, 100_000], by_default=[1000]))
def test_95_percent_intervals_cover_between_94_and_100_percent(law: MessageLaw, n: int) -> None:
    """Exact, for rare, medium and common labels, for the population and for the very sample."""
    check_coverage(law.channel, n, our_limits)


@pytest.mark.deeper
@pytest.mark.parametrize("epsilon", grid(["0.5", "1", "4"], by_default=["1"]))
def test_no_frequency_at_all_is_covered_less_often_than_claimed(epsilon: str) -> None:
    channel = law_of("rr/1", epsilon, 1).channel
    covered = [population_coverage(channel, 30, f) for f in np.linspace(0, 1, by_tier(101, 501))]
    assert min(covered) >= 0.95


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99, 0.999995])
@pytest.mark.parametrize("expected", [950, 1000, 1050, 2000])
def test_coverage_holds_on_both_sides_of_the_switch_to_the_closed_form(
    confidence: float, expected: int
) -> None:
    """1e-4 of the tail is what the closed form may cost."""
    channel = law_of("rr/1", "20", 1).channel
    n = 1_000_000
    frequency = (expected / n - float(channel.q)) / float(channel.gap)
    missed = 1 - population_coverage(channel, n, frequency, confidence=confidence)
    assert missed <= (1 - confidence) * 1.0001


def test_walds_interval_would_fall_short_at_small_counts() -> None:
    channel = law_of("grr/1", "4", 1000).channel
    ours = population_coverage(channel, 30, 0.2)
    walds = population_coverage(channel, 30, 0.2, limits=wald_limits)
    assert walds < 0.94 < 0.95 <= ours


@pytest.mark.deeper
@pytest.mark.parametrize(
    "law", grid(laws(("1", "4"), (2, 3)), by_default=is_usual_and_small), ids=label
)
def test_the_simultaneous_intervals_of_all_labels_hold_together(law: MessageLaw) -> None:
    """Exact over every histogram of a few messages, in a population of dependent labels."""
    population = {law.inputs[0]: Fraction(1, 2), law.inputs[-1]: Fraction(1, 2)}
    messages = len(law.messages)
    n = max(n for n in range(1, 9) if n == 2 or math.comb(n + messages - 1, n) <= MOST_HISTOGRAMS)
    assert joint_coverage(law, population, n, family="all") >= 0.95


def test_labels_taken_each_by_itself_do_not_hold_together() -> None:
    """Ten independent bits at n = 1,000: the joint coverage is the product of the ten."""
    channel = law_of("rr/1", "10", 10).channel
    one = population_coverage(channel, 1000, 0.5)
    simultaneous = population_coverage(channel, 1000, 0.5, confidence=1 - 0.05 / 10)
    assert one**10 < 0.8
    assert simultaneous**10 >= 0.95


def test_the_binomial_law_here_is_the_binomial_law() -> None:
    counts, chances = binomial(30, 0.25)
    exact = [math.comb(30, c) * Fraction(1, 4) ** c * Fraction(3, 4) ** (30 - c) for c in range(31)]
    assert list(counts) == list(range(31))
    assert list(chances) == pytest.approx([float(chance) for chance in exact], rel=1e-12)
