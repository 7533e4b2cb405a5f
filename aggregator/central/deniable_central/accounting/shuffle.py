"""Shuffling: what a histogram of n randomized reports guarantees to one of n honest people.

    δ(ε) = (1 + e^ε) · E[(t·Ȳ − tanh(ε/2))₊]         t = tanh(ε0/2)

Ȳ is the mean of M fair signs; M − 1 is binomial with n − 1 trials of probability 1 − t. This is the
divergence of the pair that dominates every ε0-LDP randomizer (Feldman, McMillan, Talwar 2023): with
probability 1 − t each of the others sends something independent of its sender, which hides the sign
of the one. The bound holds against every reader of reports without senders, and for any release
computed from them. It needs all n senders of a batch to be honest, and is about replacing one
report. It does not combine with a central release: quote the smaller of the two.

More signs hide more: E falls with M. So sums over M are in blocks, each at its smallest M. All
terms are positive, truncated parts are added, and floats get a margin above their error.

Source: docs/mathematics/accounting.md, Reports without senders.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_central.accounting.parameters import (
    Delta,
    Epsilon,
    read_count,
    read_delta,
    read_epsilon,
)
from deniable_central.accounting.rational_bounds import tanh
from deniable_central.errors import AccountError

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LARGEST_LOCAL = Fraction(20)
_MOST_REPORTS = 10**8  # larger batches count as this many: more reports hide at least as well
_DEVIATIONS = 13.0  # truncated: less than e^−84 on each side
_CUT = 2.0**-120
_MOST_BLOCKS, _LEAST_BLOCKS, _MOST_TERMS = 512, 32, 1 << 20
_SLACK = 2.0**-50  # error of a float after up to four roundings
_STEPS = 60


def shuffled_delta(epsilon: float, *, local: Epsilon, reports: int) -> float:
    """The δ at ε of the histogram of `reports` reports with ε0 = `local`; never too small."""
    return _crowd(read_epsilon(local, argument="local"), reports).delta(epsilon)


def shuffled_epsilon(*, local: Epsilon, reports: int, delta: Delta) -> Fraction:
    """Return the least ε for which such a histogram is (ε, δ)-DP, at most ε0; rounded up."""
    exact = read_epsilon(local, argument="local")
    return _crowd(exact, reports).epsilon(read_delta(delta))


@lru_cache(maxsize=4)
def _crowd(local: Fraction, reports: int) -> Crowd:
    return Crowd.of(local, reports=reports)


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """M in blocks: the chance of each block, and the signs of its smallest M. Built by `of`."""

    local: Fraction
    t: float
    weights: Floats
    blocks: _Blocks

    @classmethod
    def of(cls, local: Fraction, *, reports: int) -> Crowd:
        """Return the crowd of a batch of `reports` reports under ε0 in (0, 20]."""
        n = min(read_count(reports, argument="reports", most=10**12), _MOST_REPORTS)
        if not 0 < local <= LARGEST_LOCAL:
            raise AccountError(f"local must lie in (0, 20], got {float(local):.3g}")
        t = float(tanh(local / 2)[1]) * (1 + _SLACK)
        first, chances = _binomial(n - 1, 1 - t)
        width = max(1, -(-len(chances) // _block_count(first + len(chances))))
        starts = np.arange(0, len(chances), width)
        weights = np.add.reduceat(chances, starts)
        return cls(local, t, weights, _Blocks.of([1 + first + int(s) for s in starts]))

    def delta(self, epsilon: float) -> float:
        """Return δ(ε), never below the true value."""
        if not epsilon >= 0:
            raise AccountError(f"epsilon must be at least 0, got {epsilon}")
        if epsilon >= self.local:
            return 0.0
        bar = math.tanh(epsilon / 2) / self.t * (1 - _SLACK)
        total = float(self.weights @ self.blocks.excess(bar)) + _CUT
        return min(1.0, (1 + math.exp(epsilon)) * self.t * total * (1 + 2.0**-40))

    def epsilon(self, delta: Fraction) -> Fraction:
        """Return the least ε with δ(ε) ≤ δ, within 2^−60 of ε0, rounded up."""
        low, high = 0.0, float(self.local)
        if self.delta(low) <= delta:
            return Fraction(0)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return min(Fraction(high), self.local)


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """Means of m fair signs above 0, one m after another: sums from each place on.

    Those of m[i] are `lengths[i]` sums of Pr and of place · Pr, from `starts[i]` on.
    """

    m: Integers
    starts: Integers
    lengths: Integers
    chances: Floats
    moments: Floats

    @classmethod
    def of(cls, sizes: Sequence[int]) -> _Blocks:
        """The blocks of these m."""
        chances, moments = zip(*map(_signs, sizes), strict=True)
        lengths = np.array([len(each) for each in chances])
        starts = np.cumsum(lengths) - lengths
        return cls(
            np.array(sizes), starts, lengths, np.concatenate(chances), np.concatenate(moments)
        )

    def excess(self, bar: float) -> Floats:
        """Return E[(Ȳ − bar)₊] of each, never too small: truncated parts count as signs of 1."""
        first = np.maximum(0, np.floor((bar * self.m - (self.m & 1)) / 2).astype(np.int64) + 1)
        beyond = first >= self.lengths
        at = self.starts + np.where(beyond, 0, first)
        room = self.lengths * 2.0**-50
        above = self.moments[at] * (1 + room) - bar * self.m * self.chances[at] * (1 - room)
        excess: Floats = np.where(beyond, 0.0, np.maximum(0.0, above) / self.m) + _CUT
        return excess if bar < 1 else np.where(beyond, 0.0, excess)


def _signs(m: int) -> tuple[Floats, Floats]:
    """Sums of Pr and of place · Pr; a place, pluses minus minuses, is even or odd like m."""
    odd = m & 1
    last = min(m, math.ceil(_DEVIATIONS * math.sqrt(m)) + 2)
    places = np.arange(odd, last + 1, 2, dtype=np.float64)
    steps = (m - places[:-1]) / (m + places[:-1] + 2)
    relative = np.concatenate(([1.0], np.cumprod(steps)))
    whole = 2 * relative.sum() - (0.0 if odd else 1.0)
    chances = relative / whole
    return _suffix_sums(chances), _suffix_sums(chances * places)


def _suffix_sums(terms: Floats) -> Floats:
    sums: Floats = np.cumsum(terms[::-1])[::-1]
    return sums


def _block_count(largest: int) -> int:
    terms = math.ceil(_DEVIATIONS * math.sqrt(largest) / 2) + 2
    return min(_MOST_BLOCKS, max(_LEAST_BLOCKS, _MOST_TERMS // terms))


def _binomial(trials: int, chance: float) -> tuple[int, Floats]:
    """Return probabilities from a first number of successes on, none too small, without _CUT."""
    deviation = math.sqrt(trials * chance * (1 - chance))
    reach = math.ceil(_DEVIATIONS * deviation + _DEVIATIONS**2)
    mode = min(trials, math.floor((trials + 1) * chance))
    first, last = max(0, mode - reach), min(trials, mode + reach)
    up = np.arange(mode, last, dtype=np.float64)
    down = np.arange(mode, first, -1, dtype=np.float64)
    odds = chance / (1 - chance) if chance < 1 else 0.0
    above = np.cumprod((trials - up) / (up + 1) * odds)
    below = np.cumprod(down / (trials - down + 1) / odds)[::-1]
    relative = np.concatenate((below, [1.0], above))
    return first, relative / relative.sum() * (1 + len(relative) * 2.0**-50)
