from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from support.estimator_checks import check_variance
from support.message_laws import MessageLaw, Value, label, laws

EXACT = laws(("0.5", "1", "4"), (1, 2, 3))
SAMPLED = laws(("0.5", "1", "4"), (1, 2, 4))


@pytest.mark.parametrize("law", EXACT, ids=label)
def test_the_exact_variance_over_all_messages_is_the_formulas(law: MessageLaw) -> None:
    population = law.uneven()
    true = law.frequencies(population)
    variance = [Fraction()] * len(true)
    for chance, tally in law.outcomes(population, 2):
        for place, hits in enumerate(tally):
            variance[place] += chance * (_debiased(law, int(hits), 2) - true[place]) ** 2
    claimed = law.channel.std_errors(np.array([float(f) for f in true]), 2) ** 2
    assert [float(v) for v in variance] == pytest.approx(list(claimed), rel=1e-12)


@pytest.mark.parametrize("law", EXACT, ids=label)
def test_given_the_sample_the_variance_is_smaller_by_f_times_one_minus_f_over_n(
    law: MessageLaw,
) -> None:
    first, second = law.inputs[0], law.inputs[-1]
    shares = law.frequencies({first: Fraction(1, 2), second: Fraction(1, 2)})
    claimed = law.channel.std_errors(np.array([float(f) for f in shares]), 2) ** 2
    smaller = [c - float(f * (1 - f) / 2) for c, f in zip(claimed, shares, strict=True)]
    seen = [float(v) for v in _variance_given(law, [first, second])]
    assert seen == pytest.approx(smaller, rel=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("law", SAMPLED, ids=label)
def test_estimates_vary_as_their_standard_errors_say(law: MessageLaw) -> None:
    check_variance(law, law.channel.frequencies, law.channel.std_errors)


def _variance_given(law: MessageLaw, senders: list[Value]) -> list[Fraction]:
    """Exact variance of f̂ for these very senders, message by message."""
    chances = [law.mechanism.pmf(value) for value in senders]
    shares = [
        Fraction(sum(held), len(senders)) for held in zip(*map(law.truth, senders), strict=True)
    ]
    variance = [Fraction()] * len(shares)
    for drawn in product(range(len(law.messages)), repeat=len(senders)):
        chance = Fraction(1)
        for row, message in zip(chances, drawn, strict=True):
            chance *= row[law.messages[message]]
        for place, hits in enumerate(law.supports[list(drawn)].sum(axis=0)):
            off = _debiased(law, int(hits), len(senders)) - shares[place]
            variance[place] += chance * off**2
    return variance


def _debiased(law: MessageLaw, hits: int, n: int) -> Fraction:
    return (Fraction(hits, n) - law.channel.q) / law.channel.gap
