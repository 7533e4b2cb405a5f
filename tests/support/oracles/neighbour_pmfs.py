"""Exact comparison of two neighbours' laws: hockey sticks, ratios, tightness."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from deniable_central.guarantee import Guarantee
from deniable_central.pmf import Pmf
from deniable_shared.randomness.dyadic import exp_bounds

Data = TypeVar("Data", bound=Hashable)
Outcome = TypeVar("Outcome")
Law = Callable[[Data], Pmf[Outcome]]
Pairs = Iterable[tuple[Data, Data]]
Rows = tuple[int, ...]

SLACK = Fraction(1, 10**9)
ALMOST = Fraction(9, 10)
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
    e_low, e_high = _exp_bounds(epsilon)
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
    assert worst_hockey_stick(law, pairs, guarantee) >= ALMOST * guarantee.delta


def check_delta_is_exact(law: Law[Data, Outcome], pairs: Pairs[Data], guarantee: Guarantee) -> None:
    """Both of the above: two neighbours differ by (ε, δ) at most, and some by that up to 10%."""
    worst = worst_hockey_stick(law, pairs, guarantee)
    assert ALMOST * guarantee.delta <= worst <= guarantee.delta + Fraction(1, 10**30)


def worst_hockey_stick(
    law: Law[Data, Outcome], pairs: Pairs[Data], guarantee: Guarantee
) -> Fraction:
    """Compares each pair of laws once: many data may share a law that the caller keeps."""
    assert guarantee.epsilon is not None
    pmfs, worst, compared = cache(law), Fraction(0), set[frozenset[int]]()
    for one, other in _either_way_round(pairs):
        p, q = pmfs(one), pmfs(other)
        both = frozenset((id(p), id(q)))
        if both not in compared:
            compared.add(both)
            there = hockey_stick(p, q, guarantee.epsilon)[1]
            worst = max(worst, there, hockey_stick(q, p, guarantee.epsilon)[1])
    return worst


def largest_log_ratio(law: Law[Data, Outcome], pairs: Pairs[Data]) -> float:
    """The most that ln(P(y)/Q(y)) can be, over outcomes that both laws list."""
    logs = cache(lambda data: _Logarithms.of(law(data)))
    largest = -math.inf
    for one, other in _either_way_round(pairs):
        largest = max(largest, logs(one).above(logs(other)), logs(other).above(logs(one)))
    assert largest < math.inf, "a law gives 0 to what its neighbour may say"
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


def check_epsilon_is_exact(
    law: Law[Data, Outcome], pairs: Pairs[Data], guarantee: Guarantee
) -> None:
    """Both of the above: no outcome separates two neighbours by more, and some by that."""
    assert guarantee.epsilon is not None
    largest = largest_log_ratio(law, pairs)
    assert guarantee.epsilon - Fraction(1, 100) <= largest <= guarantee.epsilon + SLACK


@dataclass(frozen=True)
class _Logarithms(Generic[Outcome]):
    """ln of the bounds of a law; of what is too unlikely to be compared, −∞ as upper bound."""

    places: dict[Outcome, int]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]

    @classmethod
    def of(cls, pmf: Pmf[Outcome]) -> _Logarithms[Outcome]:
        places = {outcome: place for place, outcome in enumerate(pmf.outcomes)}
        upper = [_log(most) if most > UNLIKELY else -math.inf for most in pmf.upper]
        return cls(places, np.array([_log(least) for least in pmf.lower]), np.array(upper))

    def above(self, other: _Logarithms[Outcome]) -> float:
        """The largest ln(P/Q) of what both list; ∞ if Q may be 0."""
        if [*self.places] == [*other.places]:
            mine, theirs = self.upper, other.lower
        else:
            both = [each for each in self.places if each in other.places]
            mine = self.upper[[self.places[each] for each in both]]
            theirs = other.lower[[other.places[each] for each in both]]
        likely = mine > -math.inf
        return float(np.max(mine[likely] - theirs[likely], initial=-math.inf))


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator) if value > 0 else -math.inf


def _either_way_round(pairs: Pairs[Data]) -> Iterator[tuple[Data, Data]]:
    """Each pair once, in one of its two orders."""
    seen = set[tuple[Data, Data]]()
    for one, other in pairs:
        if (one, other) not in seen:
            seen |= {(one, other), (other, one)}
            yield one, other


@cache
def _exp_bounds(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    return exp_bounds(epsilon, bits=128)


def _by_outcome(pmf: Pmf[Outcome]) -> dict[Outcome, tuple[Fraction, Fraction]]:
    return dict(zip(pmf.outcomes, zip(pmf.lower, pmf.upper, strict=True), strict=True))
