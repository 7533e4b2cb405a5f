"""Messages that are sets of w of K codes, counted code by code: `subset/1` and `affine/1`.

    subset    any w of the d labels: a row is moved by its w largest entries less its w smallest
    affine    w neighbours among c·v mod K, for c = 1 … (K − 1)/2 and from any place on

The sets of `affine/1` are some of all sets, so the maximum over all sets is a bound. Those of c =
1, w neighbours among the codes themselves, reach it for every row whose largest entries are
neighbours, and whose smallest are: those of quantiles, intervals and revenue. For other rows every
c is tried, or the bound is used if that takes too long. Of the label counts together, u = min(w, K
− w),

    L1 = min(d, 2u)        any set of labels: min(d, u)

for both: no two sets differ by more, and w neighbours and the next w do (their complements, where
w > K/2), as codes from d on are the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.norms import (
    MOST_MESSAGES,
    MOST_STEPS,
    Matrix,
    affordable,
    norms_of_images,
)
from deniable_shared.mechanisms.structure import Design, LabelSensitivity, Subset

if TYPE_CHECKING:
    from deniable_aggregator.releases.kinds.message_space import Counts
    from deniable_estimators.inference.protocols import CodeSetEstimator


@dataclass(frozen=True, slots=True)
class SubsetMessages:
    """Counts of `size` labels, of which a report holds any `held`."""

    size: int
    held: int
    unit: int = 1
    offset: int = 0
    sampling_fraction: Fraction = Fraction(1)

    @property
    def most_labels(self) -> int:
        return self.held

    @property
    def label_sensitivity(self) -> LabelSensitivity:
        return Subset(self.size, self.held).one_report_moves(self.size)

    def label_counts(self, counts: Counts) -> Counts:
        return counts

    def tally_matrix(self, matrix: Matrix) -> Matrix:
        return matrix

    def row_ranges(self, matrix: Matrix) -> Counts:
        return _of_any_set(matrix, self.held)

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        affordable(comb(self.size, self.held), MOST_MESSAGES, "messages")
        sets = np.array(list(combinations(range(self.size), self.held)))
        return norms_of_images(matrix.T[sets].sum(axis=1))


@dataclass(frozen=True, slots=True)
class DesignSetMessages:
    """Counts of the codes of a design, the first `size` of them labels."""

    size: int
    design: Design
    estimator: CodeSetEstimator
    unit: int = 1
    offset: int = 0
    sampling_fraction: Fraction = Fraction(1)

    @property
    def most_labels(self) -> int:
        return min(self.design.support_size, self.size)

    @property
    def label_sensitivity(self) -> LabelSensitivity:
        return self.design.one_report_moves(self.size)

    def label_counts(self, counts: Counts) -> Counts:
        return counts[: self.size]

    def tally_matrix(self, matrix: Matrix) -> Matrix:
        unused = np.zeros((len(matrix), self.design.codes - self.size), dtype=np.int64)
        return np.concatenate([matrix, unused], axis=1)

    def row_ranges(self, matrix: Matrix) -> Counts:
        bound = _of_any_set(matrix, self.design.support_size)
        high, low = _span(next(self.estimator.held_blocks(matrix)))
        open_rows = np.flatnonzero(high - low < bound)
        if len(open_rows) * self.design.messages > MOST_STEPS or not len(open_rows):
            return bound
        high, low = high[open_rows], low[open_rows]
        for block in self.estimator.held_blocks(matrix[open_rows]):
            highest, lowest = _span(block)
            high, low = np.maximum(high, highest), np.minimum(low, lowest)
        bound[open_rows] = high - low
        return bound

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        affordable(self.design.messages, MOST_MESSAGES, "messages")
        blocks = list(self.estimator.held_blocks(matrix))
        return norms_of_images(np.concatenate(blocks, axis=1).T)


def _span(sums: Matrix) -> tuple[Counts, Counts]:
    return sums.max(axis=1), sums.min(axis=1)


def _of_any_set(matrix: Matrix, held: int) -> Counts:
    """The `held` largest entries of each row less as many smallest."""
    codes = matrix.shape[1]
    ordered = np.partition(matrix, sorted({held - 1, codes - held}), axis=1)
    spread: Counts = ordered[:, codes - held :].sum(axis=1) - ordered[:, :held].sum(axis=1)
    return spread
