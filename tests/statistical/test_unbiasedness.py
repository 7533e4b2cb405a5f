from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable_estimators.inference.channel import Counts, Floats
from deniable_shared.randomness.coins import Coins
from support.oracles.estimator_checks import bernstein_bound, check_exactly_unbiased, check_unbiased
from support.oracles.message_laws import MessageLaw, chains, label, laws
from support.tiers import grid

EXACT = [*laws(("0.5", "1", "4"), (1, 2, 3)), *chains(("0.5", "4"), (1, 3))]
SAMPLED = laws(("0.5", "1", "4"), (1, 2, 5))
RANDOMIZED = [*laws(("4",), (2,)), *laws(("6",), (3,)), *chains(("4",), (3,))]


def is_usual(law: MessageLaw) -> bool:
    return law.mechanism.epsilon == 4 and law.labels == 3


def is_small(law: MessageLaw) -> bool:
    return law.mechanism.epsilon == 4 and law.labels == 2 and len(law.messages) <= 8


def is_long(law: MessageLaw) -> bool:
    """All pairs of many messages: half a minute each."""
    return len(law.messages) > 40


def each_of(cases: list[Any]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("law", cases, ids=label)


@each_of(grid(EXACT, by_default=is_usual))
def test_a_label_is_supported_with_exactly_p_if_true_and_exactly_q_if_not(law: MessageLaw) -> None:
    for value in law.inputs:
        chances = law.mechanism.pmf(value)
        for place, held in enumerate(law.truth(value)):
            supported = sum(
                chances[message] * int(adds[place])
                for message, adds in zip(law.messages, law.supports(law.tallies), strict=True)
            )
            assert supported == law.mechanism.sampling_fraction * (
                law.mechanism.p if held else law.mechanism.q
            )


@each_of(grid(EXACT, by_default=is_small, long=is_long))
def test_the_mean_of_the_estimate_over_all_messages_is_the_truth(law: MessageLaw) -> None:
    check_exactly_unbiased(law, law.channel.frequencies)


@each_of(grid(EXACT, by_default=is_usual))
def test_the_debias_of_the_exact_mean_tally_is_exactly_the_truth(law: MessageLaw) -> None:
    """In rationals alone: (E[c]/n − q)/(p − q) = f, so only rounding separates f̂ from unbiased."""
    population = law.uneven()
    chances = law.probabilities(population)
    for place, true in enumerate(law.frequencies(population)):
        share = sum(
            (
                chance * int(adds[place])
                for chance, adds in zip(chances, law.supports(law.tallies), strict=True)
            ),
            Fraction(),
        )
        assert (share / law.mechanism.sampling_fraction - law.channel.q) / law.channel.gap == true


@pytest.mark.statistical
@each_of(SAMPLED)
def test_a_billion_reports_are_estimated_without_bias(law: MessageLaw) -> None:
    check_unbiased(law, law.channel.frequencies)


@pytest.mark.statistical
@each_of(grid(RANDOMIZED, by_default=RANDOMIZED[::4], long=RANDOMIZED))
def test_reports_of_the_real_randomizer_are_estimated_without_bias(law: MessageLaw) -> None:
    """180,000 reports through randomize, tally and estimate.

    False alarm ≤ 1e-6 by Bernstein's inequality. Its bound is about 6 standard errors, at most
    0.0095 here, where 3% of an f ≥ 0.5 is 0.015: seen but for 1 in 5,000 runs of a wrong one.
    """
    n = 180_000
    population = law.uneven()
    tally, true = _randomized(law, n)
    off = np.abs(law.estimator.estimate(tally, n).frequencies - true)
    assert (off <= bernstein_bound(law, population, law.trials(tally, n))).all()


def _randomized(law: MessageLaw, n: int) -> tuple[Counts, Floats]:
    weights = law.uneven()
    senders = [value for value, weight in weights.items() for _ in range(round(weight * n))]
    coins = Coins.system()
    sent = b"".join(law.mechanism.randomize(value, coins) for value in senders)
    rows = np.frombuffer(sent, dtype=np.uint8).reshape(len(senders), -1)
    truth = np.array([law.truth(value) for value in senders]).mean(axis=0)
    return law.estimator.tally(rows), truth
