"""Messages of bits: any of m bits may be one (`rr/1`, unary encodings), or t of them are sent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.norms import (
    MOST_MESSAGES,
    Matrix,
    affordable,
    norms_of_bits,
    norms_of_images,
)
from deniable_shared.mechanisms.structure import IndependentBits, LabelSensitivity, SampledBits

if TYPE_CHECKING:
    from deniable_aggregator.releases.kinds.message_space import Counts


@dataclass(frozen=True, slots=True)
class IndependentBitMessages:
    """m counts of ones, each report free in all of them."""

    size: int
    unit: int = 1
    offset: int = 0
    sampling_fraction: Fraction = Fraction(1)

    @property
    def most_labels(self) -> int:
        return self.size

    @property
    def label_sensitivity(self) -> LabelSensitivity:
        return IndependentBits(self.size).one_report_moves(self.size)

    def label_counts(self, counts: Counts) -> Counts:
        return counts

    def tally_matrix(self, matrix: Matrix) -> Matrix:
        return matrix

    def row_ranges(self, matrix: Matrix) -> Counts:
        spread: Counts = np.abs(matrix).sum(axis=1)
        return spread

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        return norms_of_bits(matrix)


@dataclass(frozen=True, slots=True)
class SampledBitMessages:
    """t = `sampled` of m = `size` bits sent: counts of reports of each bit, then of ones."""

    size: int
    sampled: int
    unit: int
    offset: int

    @property
    def sampling_fraction(self) -> Fraction:
        return Fraction(self.sampled, self.size)

    @property
    def most_labels(self) -> int:
        return self.sampled

    @property
    def label_sensitivity(self) -> LabelSensitivity:
        bits = SampledBits(self.size, self.sampled)
        return bits.one_report_moves(self.size, self.unit, self.offset)

    def label_counts(self, counts: Counts) -> Counts:
        label_counts: Counts = self.unit * counts[self.size :] - self.offset * counts[: self.size]
        return label_counts

    def tally_matrix(self, matrix: Matrix) -> Matrix:
        return np.concatenate([-self.offset * matrix, self.unit * matrix], axis=1)

    def row_ranges(self, matrix: Matrix) -> Counts:
        telling, one = matrix[:, : self.size], matrix[:, self.size :]
        high = np.sort(telling + np.maximum(one, 0), axis=1)[:, self.size - self.sampled :]
        low = np.sort(telling + np.minimum(one, 0), axis=1)[:, : self.sampled]
        spread: Counts = high.sum(axis=1) - low.sum(axis=1)
        return spread

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        affordable(comb(self.size, self.sampled) << self.sampled, MOST_MESSAGES, "messages")
        return norms_of_images(self._every() @ matrix.T)

    def _every(self) -> Matrix:
        """(messages, 2m): what each message adds to the tally."""
        rows = []
        for places in combinations(range(self.size), self.sampled):
            for bits in product((0, 1), repeat=self.sampled):
                row = np.zeros(2 * self.size, dtype=np.int64)
                row[list(places)] = 1
                row[[self.size + p for p, bit in zip(places, bits, strict=True) if bit]] = 1
                rows.append(row)
        return np.array(rows)
