from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable_estimators.inference.channel import Counts
from support.oracles.estimator_checks import check_variance
from support.oracles.message_laws import MessageLaw, Value, chains, label, laws
from support.tiers import grid

EXACT = [*laws(("0.5", "1", "4"), (1, 2, 3)), *chains(("0.5", "4"), (1, 3))]
SAMPLED = laws(("0.5", "1", "4"), (1, 2, 4))


def is_usual(law: MessageLaw) -> bool:
    return law.mechanism.epsilon == 4 and law.labels == 2


@pytest.mark.parametrize("law", grid(EXACT, by_default=is_usual), ids=label)
def test_the_exact_variance_over_all_messages_is_the_formulas(law: MessageLaw) -> None:
    population = law.uneven()
    true = law.frequencies(population)
    squares, chances = _nothing(law, 3), _nothing(law, 3)
    for chance, tally in law.outcomes(population, 2):
        for place, result, off in _errors(law, tally, 2, true):
            squares[result][place] += chance * off**2
            chances[result][place] += chance
    for result in (1, 2):
        claimed = law.channel.std_errors(np.array([float(f) for f in true]), result) ** 2
        for square, chance, claim in zip(squares[result], chances[result], claimed, strict=True):
            assert chance == 0 or float(square / chance) == pytest.approx(claim, rel=1e-12)


@pytest.mark.parametrize("law", grid(EXACT, by_default=is_usual), ids=label)
def test_given_the_sample_the_variance_is_smaller_by_that_of_the_people(
    law: MessageLaw,
) -> None:
    first, second = law.inputs[0], law.inputs[-1]
    shares = law.frequencies({first: Fraction(1, 2), second: Fraction(1, 2)})
    claimed = law.channel.std_errors(np.array([float(f) for f in shares]), 2) ** 2
    smaller = [c - float(f * (1 - f) / 2) for c, f in zip(claimed, shares, strict=True)]
    seen = [float(v) for v in _variance_given(law, [first, second])]
    assert seen == pytest.approx(smaller, rel=1e-9)


def test_what_messages_support_adds_up_to_what_their_tally_does() -> None:
    for law in SAMPLED:  # they are drawn on the strength of it
        n, whole = len(law.messages), law.tallies.sum(axis=0)
        assert (law.supports(whole) == law.supports(law.tallies).sum(axis=0)).all(), label(law)
        assert (law.trials(whole, n) == law.trials(law.tallies, 1).sum(axis=0)).all(), label(law)


@pytest.mark.statistical
@pytest.mark.parametrize("law", grid(SAMPLED, by_default=SAMPLED[::4], long=SAMPLED), ids=label)
def test_estimates_vary_as_their_standard_errors_say(law: MessageLaw) -> None:
    check_variance(law, law.channel.frequencies, law.channel.std_errors)


def _variance_given(law: MessageLaw, senders: list[Value]) -> list[Fraction]:
    """Exact variance of f̂ for these very senders, if all tell of the label, over all messages."""
    n = len(senders)
    rows = [law.mechanism.pmf(value) for value in senders]
    shares = [Fraction(sum(held), n) for held in zip(*map(law.truth, senders), strict=True)]
    squares, chances = _nothing(law, n + 1), _nothing(law, n + 1)
    for drawn in product(range(len(law.messages)), repeat=n):
        chance = Fraction(1)
        for row, message in zip(rows, drawn, strict=True):
            chance *= row[law.messages[message]]
        for place, result, off in _errors(law, law.tallies[list(drawn)].sum(axis=0), n, shares):
            squares[result][place] += chance * off**2
            chances[result][place] += chance
    return [square / chance for square, chance in zip(squares[n], chances[n], strict=True)]


def _errors(
    law: MessageLaw, tally: Counts, n: int, true: list[Fraction]
) -> Iterator[tuple[int, int, Fraction]]:
    """(label, how many reports tell of it, f̂ − f) where any does."""
    hits, trials = law.supports(tally).tolist(), law.trials(tally, n).tolist()
    for place, (hit, result) in enumerate(zip(hits, trials, strict=True)):
        if result:
            debiased = (Fraction(hit, result) - law.channel.q) / law.channel.gap
            yield place, result, debiased - true[place]


def _nothing(law: MessageLaw, rows: int) -> list[list[Fraction]]:
    return [[Fraction()] * law.labels for _ in range(rows)]
