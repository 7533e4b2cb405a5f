"""Exact comparison of two neighbours' laws: hockey sticks, ratios, tightness."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TypeVar

from deniable_central.guarantee import Guarantee
from deniable_central.pmf import Pmf
from deniable_shared.randomness.dyadic import exp_bounds

Data = TypeVar("Data", bound=Hashable)
Outcome = TypeVar("Outcome")
Law = Callable[[Data], Pmf[Outcome]]
Pairs = Iterable[tuple[Data, Data]]
Rows = tuple[int, ...]

SLACK = Fraction(1, 10**9)
UNLIKELY = Fraction(1, 10**12)


def exchanged(domain: Iterable[int], sizes: Iterable[int]) -> Iterator[tuple[Rows, Rows]]:
    """All data sets of these sizes, with all that replacing one row makes of them, as rows."""
    values = tuple(domain)
    for size in sizes:
        for rows in product(values, repeat=size):
            for place, value in product(range(size), values):
                if value != rows[place]:
                    yield rows, (*rows[:place], value, *rows[place + 1 :])


def enlarged(domain: Iterable[int], sizes: Iterable[int]) -> Iterator[tuple[Rows, Rows]]:
    """All data sets of these sizes, with all that one row more makes of them."""
    values = tuple(domain)
    for size in sizes:
        for rows in product(values, repeat=size):
            yield from ((rows, (*rows, value)) for value in values)


def hockey_stick(
    one: Pmf[Outcome], other: Pmf[Outcome], epsilon: Fraction
) -> tuple[Fraction, Fraction]:
    """Bounds of Σ_y max(P(y) − e^ε Q(y), 0)."""
    e_low, e_high = exp_bounds(epsilon, bits=128)
    theirs = _by_outcome(other)
    low = high = Fraction(0)
    for outcome, (least, most) in _by_outcome(one).items():
        their_least, their_most = theirs.get(outcome, (Fraction(0), Fraction(0)))
        low += max(Fraction(0), least - e_high * their_most)
        high += max(Fraction(0), most - e_low * their_least)
    return low, high


def check_approximate(law: Law[Data, Outcome], pairs: Pairs[Data], guarantee: Guarantee) -> None:
    """No two neighbours differ by more than (ε, δ), either way."""
    worst = worst_hockey_stick(law, pairs, guarantee)
    assert worst <= guarantee.delta + Fraction(1, 10**30)


def check_delta_is_reached(
    law: Law[Data, Outcome], pairs: Pairs[Data], guarantee: Guarantee
) -> None:
    """Some two neighbours differ by δ, up to 10%: no answer is withheld in vain."""
    assert worst_hockey_stick(law, pairs, guarantee) >= Fraction(9, 10) * guarantee.delta


def worst_hockey_stick(
    law: Law[Data, Outcome], pairs: Pairs[Data], guarantee: Guarantee
) -> Fraction:
    assert guarantee.epsilon is not None
    pmfs, worst = cache(law), Fraction(0)
    for one, other in pairs:
        there = hockey_stick(pmfs(one), pmfs(other), guarantee.epsilon)[1]
        back = hockey_stick(pmfs(other), pmfs(one), guarantee.epsilon)[1]
        worst = max(worst, there, back)
    return worst


def largest_log_ratio(law: Law[Data, Outcome], pairs: Pairs[Data]) -> float:
    """The most that ln(P(y)/Q(y)) can be, over outcomes that both laws list."""
    pmfs, largest = cache(law), -math.inf
    for pair in pairs:
        for one, other in (pair, pair[::-1]):
            theirs = _by_outcome(pmfs(other))
            for outcome, (_, most) in _by_outcome(pmfs(one)).items():
                if most > UNLIKELY and outcome in theirs:
                    largest = max(largest, math.log(most / theirs[outcome][0]))
    return largest


def check_pure(law: Law[Data, Outcome], pairs: Pairs[Data], guarantee: Guarantee) -> None:
    """No outcome separates two neighbours by more than e^ε, either way."""
    assert guarantee.epsilon is not None
    assert largest_log_ratio(law, pairs) <= guarantee.epsilon + SLACK


def check_epsilon_is_reached(
    law: Law[Data, Outcome], pairs: Pairs[Data], guarantee: Guarantee
) -> None:
    """Some outcome separates some two neighbours by e^ε, up to 1%."""
    assert guarantee.epsilon is not None
    assert largest_log_ratio(law, pairs) >= guarantee.epsilon - Fraction(1, 100)


def _by_outcome(pmf: Pmf[Outcome]) -> dict[Outcome, tuple[Fraction, Fraction]]:
    return dict(zip(pmf.outcomes, zip(pmf.lower, pmf.upper, strict=True), strict=True))
