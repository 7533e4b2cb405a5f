"""Messages that are sets of w of K codes, counted code by code: `subset/1` and `affine/1`.

    subset    any w of the d labels: a row is moved by its w largest entries less its w smallest
    affine    w neighbours among c·v mod K, for c = 1 … (K − 1)/2 and from any place on

The sets of `affine/1` are some of all sets, so what any sets would move a row by is a bound. Those
of c = 1, w neighbours among the codes themselves, reach it for every row whose largest entries are
neighbours, and whose smallest: those of quantiles, intervals and revenue. For other rows every c is
tried, or the bound stands where that takes too long. Of the readings together, u = min(w, K − w),

    L1 = min(d, 2u)        any set of labels: min(d, u)

for both: no two sets differ by more, and w neighbours and the next w do (their complements, where
w > K/2), as codes from d on are the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np

from deniable_aggregator.central.aggregate.message_contract import Counts, LabelReach
from deniable_aggregator.central.aggregate.norms import (
    MOST_MESSAGES,
    MOST_STEPS,
    Matrix,
    affordable,
    norms_of_images,
)
from deniable_aggregator.estimate.arcs import arc_sums

__all__ = ["Arcs", "Subsets"]


@dataclass(frozen=True, slots=True)
class Subsets:
    """Counts of `size` labels, of which a report holds any `held`."""

    size: int
    held: int
    unit: int = 1
    blank: int = 0
    told: Fraction = Fraction(1)

    @property
    def most(self) -> int:
        return self.held

    @property
    def labels(self) -> LabelReach:
        return _reach(self.size, self.size, self.held)

    def readings(self, counts: Counts) -> Counts:
        return counts

    def on_tally(self, matrix: Matrix) -> Matrix:
        return matrix

    def spread(self, matrix: Matrix) -> Counts:
        return _of_any_set(matrix, self.held)

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        affordable(comb(self.size, self.held), MOST_MESSAGES, "messages")
        sets = np.array(list(combinations(range(self.size), self.held)))
        return norms_of_images(matrix.T[sets].sum(axis=1))


@dataclass(frozen=True, slots=True)
class Arcs:
    """Counts of `codes`, a prime, the first `size` of them labels; a report holds `held`."""

    size: int
    codes: int
    held: int
    unit: int = 1
    blank: int = 0
    told: Fraction = Fraction(1)

    @property
    def most(self) -> int:
        return min(self.held, self.size)

    @property
    def labels(self) -> LabelReach:
        return _reach(self.size, self.codes, self.held)

    def readings(self, counts: Counts) -> Counts:
        return counts[: self.size]

    def on_tally(self, matrix: Matrix) -> Matrix:
        unused = np.zeros((len(matrix), self.codes - self.size), dtype=np.int64)
        return np.concatenate([matrix, unused], axis=1)

    def spread(self, matrix: Matrix) -> Counts:
        bound, found = _of_any_set(matrix, self.held), self._span(matrix, 1)
        open_rows = np.flatnonzero(np.subtract(*found) < bound)
        if len(open_rows) * self.codes * (self.codes >> 1) > MOST_STEPS or not len(open_rows):
            return bound
        high, low = (end[open_rows] for end in found)
        for multiplier in range(2, (self.codes >> 1) + 1):
            highest, lowest = self._span(matrix[open_rows], multiplier)
            high, low = np.maximum(high, highest), np.minimum(low, lowest)
        bound[open_rows] = high - low
        return bound

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        affordable((self.codes >> 1) * self.codes, MOST_MESSAGES, "messages")
        return norms_of_images(np.concatenate(list(self._images(matrix)), axis=1).T)

    def _images(self, matrix: Matrix) -> Iterator[Matrix]:
        for multiplier in range(1, (self.codes >> 1) + 1):
            yield self._sums(matrix, multiplier)

    def _span(self, matrix: Matrix, multiplier: int) -> tuple[Counts, Counts]:
        sums = self._sums(matrix, multiplier)
        return sums.max(axis=1), sums.min(axis=1)

    def _sums(self, matrix: Matrix, multiplier: int) -> Matrix:
        """row·s(y) of every message y = (multiplier, b): w neighbours among c·v mod K."""
        order = np.arange(self.codes) * pow(multiplier, -1, self.codes) % self.codes
        return arc_sums(matrix[:, order], self.held)


def _reach(size: int, codes: int, held: int) -> LabelReach:
    own = min(held, codes - held)
    return LabelReach.of_supports(min(size, 2 * own), min(size, own))


def _of_any_set(matrix: Matrix, held: int) -> Counts:
    """The `held` largest entries of each row less as many smallest."""
    codes = matrix.shape[1]
    ordered = np.partition(matrix, sorted({held - 1, codes - held}), axis=1)
    spread: Counts = ordered[:, codes - held :].sum(axis=1) - ordered[:, :held].sum(axis=1)
    return spread
