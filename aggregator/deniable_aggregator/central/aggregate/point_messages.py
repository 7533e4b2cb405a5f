"""Messages that are counted one by one: a tally is their histogram, and a label's reading a sum.

    labels themselves      grr/1         one label a message
    points of a geometry   cyclic/1, projective/1         w codes of K, two messages share λ
    signs                  hadamard/1    half of all codes, (j, 0) and (j, 1) none in common

One report replaced takes 1 from one count and gives it to another, so a row over the tally is moved
by its largest entry less its smallest; a row over the readings becomes the sums of its entries over
the labels that each message supports, exactly (`held` of the estimators). Of the readings together,
with λ and w those of the geometry and d labels among its K codes,

    L1 ≤ min(d, 2(w − λ))         any set of labels ≤ min(d, w − λ)

which is reached where d = K; where K²·d is small the maximum over all pairs is taken itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np

from deniable_aggregator.central.aggregate.message_contract import Counts, LabelReach
from deniable_aggregator.central.aggregate.norms import Matrix, norms_of_images
from deniable_aggregator.estimators import for_mechanism
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.geometric import GeometricResponse
from deniable_shared.mechanisms.hadamard import HadamardResponse
from deniable_shared.recurrences import codes_of

__all__ = ["OneOf", "Points"]

_MOST_PRODUCTS = 1 << 29
_ONE_LABEL = LabelReach.of_supports(2, 1)


@dataclass(frozen=True, slots=True)
class OneOf:
    """A histogram of K labels."""

    size: int
    unit: int = 1
    blank: int = 0
    told: Fraction = Fraction(1)
    most: int = 1

    @property
    def labels(self) -> LabelReach:
        return _ONE_LABEL

    def readings(self, counts: Counts) -> Counts:
        return counts

    def on_tally(self, matrix: Matrix) -> Matrix:
        return matrix

    def spread(self, matrix: Matrix) -> Counts:
        return _spread(matrix)

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        return norms_of_images(matrix.T)


@runtime_checkable
class Decoder(Protocol):
    """What is needed of an estimator."""

    def supports(self, tallies: Counts) -> Counts: ...

    def held(self, weights: Counts) -> Counts: ...


@dataclass(frozen=True, slots=True)
class Points:
    """A histogram of messages that support several labels each."""

    decoder: Decoder
    labels: LabelReach
    most: int
    unit: int = 1
    blank: int = 0
    told: Fraction = Fraction(1)

    @classmethod
    def of_geometry(cls, form: GeometricResponse) -> Points:
        labels = LabelReach.of_supports(*_apart(form))
        return cls(_decoder(form), labels, min(form.favoured, form.domain_size))

    @classmethod
    def of_signs(cls, form: HadamardResponse) -> Points:
        """(j, 0) and (j, 1) part all labels; for the first bit of an index, K/2 from the others."""
        half = form.codes // 2
        return cls(_decoder(form), LabelReach.of_supports(form.domain_size, half), half)

    def readings(self, counts: Counts) -> Counts:
        return self.decoder.supports(counts)

    def on_tally(self, matrix: Matrix) -> Matrix:
        return self.decoder.held(matrix)

    def spread(self, matrix: Matrix) -> Counts:
        return _spread(matrix)

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        return norms_of_images(matrix.T)


def _decoder(form: GeometricResponse | HadamardResponse) -> Decoder:
    estimator = for_mechanism(form)
    if not isinstance(estimator, Decoder):
        raise ParameterError(f"the messages of {form.id} must be summed by its estimator")
    return estimator


def _spread(matrix: Matrix) -> Counts:
    spread: Counts = matrix.max(axis=1) - matrix.min(axis=1)
    return spread


@lru_cache(maxsize=64)
def _apart(form: GeometricResponse) -> tuple[int, int]:
    """In how many labels two messages differ at most, and how many one has that the other lacks."""
    d, own = form.domain_size, form.favoured - codes_of(form.field_order, form.dimension - 2)
    if form.symbols**2 * d > _MOST_PRODUCTS:
        return min(d, 2 * own), min(d, own)
    held = _decoder(form).held(np.eye(d, dtype=np.int64)).astype(np.float32)
    shared = held.T @ held
    lacked = np.diagonal(shared)[:, None] - shared
    return int((lacked + lacked.T).max()), int(lacked.max())
