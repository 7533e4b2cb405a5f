"""Checks that a selection passes, and that known mistakes about it fail."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any, Protocol, TypeVar

import numpy as np

from deniable_central.guarantee import Guarantee
from deniable_central.pmf import Pmf
from deniable_central.scores import Integers
from deniable_shared.randomness.dyadic import exp_bounds
from support.oracles.likelihood_ratio import likelihood_ratio

_stats = import_module("scipy.stats")
_chi2, _binomial = _stats.chi2, _stats.binom

FALSE_ALARM = 1e-6
SLACK = Fraction(1, 2**60)  # the certified bounds are narrower than this
ALPHAS = (1.01, 1.1, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0)

Vector = tuple[int, ...]
Pair = tuple[Vector, Vector]
Outcome = TypeVar("Outcome", bound=Hashable)


class Selection(Protocol):
    """What is checked: a law over the candidates, and what it claims."""

    @property
    def guarantee(self) -> Guarantee: ...
    def pmf(self, scores: Any) -> Pmf[Any]: ...


def moved(moves: Iterable[int], *, candidates: int = 3, height: int = 2) -> Iterator[Pair]:
    """All score vectors of a small box, each with all that one row can make of it."""
    steps = list(itertools.product(moves, repeat=candidates))
    for scores in itertools.product(range(height + 1), repeat=candidates):
        for step in steps:
            yield scores, tuple(s + d for s, d in zip(scores, step, strict=True))


def far_apart(moves: Sequence[int], *, gap: int = 40) -> Iterator[Pair]:
    """Where the bounds are reached: a candidate far below two equal ones, and all its moves."""
    for step in itertools.product(moves, repeat=3):
        yield (0, gap, gap), (step[0], gap + step[1], gap + step[2])


def data_sets(values: int, rows: int) -> Iterator[Vector]:
    """Every data set of so many rows, by its histogram."""
    for cut in itertools.combinations_with_replacement(range(values), rows):
        yield tuple(cut.count(v) for v in range(values))


def replaced(histogram: Vector) -> Iterator[Vector]:
    """Every histogram after one row was exchanged."""
    for out, into in itertools.permutations(range(len(histogram)), 2):
        if histogram[out]:
            yield tuple(c - (v == out) + (v == into) for v, c in enumerate(histogram))


def added(histogram: Vector) -> Iterator[Vector]:
    """Every histogram with one row more."""
    for into in range(len(histogram)):
        yield tuple(c + (v == into) for v, c in enumerate(histogram))


class Laws:
    """The pmf of each score vector, computed once."""

    def __init__(self, selection: Selection) -> None:
        self._selection, self._known = selection, dict[Vector, Pmf[Any]]()

    def __call__(self, scores: Vector) -> Pmf[Any]:
        if scores not in self._known:
            self._known[scores] = self._selection.pmf(np.array(scores))
        return self._known[scores]


def ratios(one: Pmf[Any], other: Pmf[Any]) -> list[Fraction]:
    """The largest that Pr[r]/Pr'[r] can be, for each outcome."""
    return [high / low for high, low in zip(one.upper, other.lower, strict=True)]


def check_private(selection: Selection, pairs: Iterable[Pair]) -> None:
    """No outcome separates two neighbours by more than e^ε, either way."""
    epsilon = selection.guarantee.epsilon
    assert epsilon is not None
    bound, law = exp_bounds(epsilon, bits=128)[1] * (1 + SLACK), Laws(selection)
    for one, other in pairs:
        assert _within(law(one), law(other), bound), (one, other)
        assert _within(law(other), law(one), bound), (other, one)


def _within(one: Pmf[Any], other: Pmf[Any], bound: Fraction) -> bool:
    """Whether no ratio is above the bound; in whole numbers, which need no common divisors."""
    more, less = bound.numerator, bound.denominator
    return all(
        high.numerator * low.denominator * less <= more * low.numerator * high.denominator
        for high, low in zip(one.upper, other.lower, strict=True)
    )


def check_tight(selection: Selection, pairs: Iterable[Pair]) -> None:
    """Some outcome separates some two neighbours by e^ε, up to 1%: no noise is wasted."""
    epsilon = selection.guarantee.epsilon
    assert epsilon is not None
    law, least = Laws(selection), 0.99 * math.exp(epsilon)
    assert any(
        max(ratios(law(one), law(other)) + ratios(law(other), law(one))) >= least
        for one, other in pairs
    )


def check_bounded_range(selection: Selection, pairs: Iterable[Pair]) -> None:
    """The log-ratios of two neighbours lie within ε of each other."""
    epsilon = selection.guarantee.epsilon
    assert epsilon is not None
    bound, law = exp_bounds(epsilon, bits=128)[1] * (1 + SLACK), Laws(selection)
    for one, other in pairs:
        product = max(ratios(law(one), law(other))) * max(ratios(law(other), law(one)))
        assert product <= bound, (one, other)


def check_concentrated(selection: Selection, pairs: Iterable[Pair]) -> None:
    """D_α ≤ ρα on a grid of α, both ways."""
    rho, law = selection.guarantee.rho, Laws(selection)
    assert rho is not None
    chances = cache(lambda scores: law(scores).probabilities)
    for one, other in pairs:
        p, q = chances(one), chances(other)
        for alpha in ALPHAS:
            bound = float(rho) * alpha * (1 + 1e-9) + 1e-12
            assert max(divergence(p, q, alpha), divergence(q, p, alpha)) <= bound, (
                one,
                other,
                alpha,
            )


def divergence(p: Any, q: Any, alpha: float) -> float:
    """D_α(p‖q)."""
    return float(np.log(np.sum(p**alpha * q ** (1 - alpha))) / (alpha - 1))


def check_prefers_high_scores(selection: Selection) -> None:
    """A higher score is likelier, an equal one equally likely."""
    low, high, equal = selection.pmf(np.array([1, 4, 4])).probabilities
    assert high == equal > low


def check_shift_changes_nothing(selection: Selection) -> None:
    """Only differences of scores count, however large the scores."""
    near, far = (selection.pmf(np.array([c, c + 3, c + 1])) for c in (0, 10**15))
    assert near == far


def p_value(drawn: Iterable[Outcome], pmf: Pmf[Outcome]) -> float:
    """Likelihood ratio of draws to a law, and a binomial test of the cells that expect under 10.

    2·Σ[c·ln(c/e) − c + e]/(1 + 1/(6e)), against the χ² of as many degrees of freedom as it has
    cells. Where it is as large as a χ² is with probability 1e-6/3, it is so with at most 5.5e-7 for
    Poisson counts of up to 2,000 cells that all expect 10, and with less the more they expect; the
    binomial test adds 1e-6/3. Without the divisor, which is the mean of each cell, it would be so
    with 7e-6. Pearson's sum of (c − e)²/e would be with 1.5e-5: one cell of few reaches far.
    """
    seen = Counter(drawn)
    assert seen.keys() <= set(pmf.outcomes)
    n = seen.total()
    expected = pmf.probabilities * n
    counts = np.array([seen[outcome] for outcome in pmf.outcomes])
    rare = expected < 10
    chance = min(1.0, float(expected[rare].sum()) / n)
    often = float(_binomial.sf(counts[rare].sum() - 1, n, chance))
    seldom = float(_binomial.cdf(counts[rare].sum(), n, chance))
    unlikely = min(1.0, 2 * min(often, seldom))
    if (~rare).sum() < 2:
        return unlikely
    likely = expected[~rare]
    statistic = likelihood_ratio(counts[~rare], likely, means=1 + 1 / (6 * likely))
    return min(1.0, 3 * min(unlikely, float(_chi2.sf(statistic, len(likely)))))


def check_follows(draw: Callable[[], Outcome], pmf: Pmf[Outcome], *, draws: int) -> None:
    """Draws follow the law: rejected at 1e-6."""
    assert p_value((draw() for _ in range(draws)), pmf) > FALSE_ALARM


def vector(*scores: int) -> Integers:
    return np.array(scores, dtype=np.int64)
