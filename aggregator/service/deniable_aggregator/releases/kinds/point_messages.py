"""Messages that are counted one by one: a tally is their histogram, and a label's count a sum.

    labels themselves      grr/1         one label a message
    points of a geometry   cyclic/1, projective/1         w codes of K, two messages share λ
    signs                  hadamard/1    half of all codes, (j, 0) and (j, 1) none in common

One report replaced takes 1 from one count and gives it to another, so a row over the tally is moved
by its largest entry less its smallest; a row over the label counts becomes the sums of its entries
over the labels that each message supports, exactly (`held` of the estimators). Of the label counts
together, with λ and w those of the geometry and d labels among its K codes,

    L1 ≤ min(d, 2(w − λ))         any set of labels ≤ min(d, w − λ)

which is reached where d = K; where K²·d is small the maximum over all pairs is taken itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.norms import Matrix, norms_of_images
from deniable_estimators.inference.protocols import MessageCodeEstimator
from deniable_estimators.mechanisms import estimator_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.structure import Design, LabelSensitivity, OneOf

if TYPE_CHECKING:
    from deniable_aggregator.releases.kinds.message_space import Counts
    from deniable_shared.mechanisms.protocols import Mechanism

_MOST_PRODUCTS = 1 << 29


@dataclass(frozen=True, slots=True)
class LabelMessages:
    """Messages that are counted in a histogram of K labels."""

    size: int
    unit: int = 1
    offset: int = 0
    sampling_fraction: Fraction = Fraction(1)
    most_labels: int = 1

    @property
    def label_sensitivity(self) -> LabelSensitivity:
        return OneOf(self.size).one_report_moves(self.size)

    def label_counts(self, counts: Counts) -> Counts:
        return counts

    def tally_matrix(self, matrix: Matrix) -> Matrix:
        return matrix

    def row_ranges(self, matrix: Matrix) -> Counts:
        return _spread(matrix)

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        return norms_of_images(matrix.T)


@dataclass(frozen=True, slots=True)
class DesignPointMessages:
    """A histogram of messages that support several labels each."""

    decoder: MessageCodeEstimator
    label_sensitivity: LabelSensitivity
    most_labels: int
    unit: int = 1
    offset: int = 0
    sampling_fraction: Fraction = Fraction(1)

    @classmethod
    def of(cls, form: Mechanism, design: Design) -> DesignPointMessages:
        """The messages of a design; `form` is the mechanism of one round."""
        return cls(_decoder(form), _apart(form, design), min(design.support_size, form.domain_size))

    def label_counts(self, counts: Counts) -> Counts:
        return self.decoder.supports(counts)

    def tally_matrix(self, matrix: Matrix) -> Matrix:
        return self.decoder.held(matrix)

    def row_ranges(self, matrix: Matrix) -> Counts:
        return _spread(matrix)

    def norms(self, matrix: Matrix) -> tuple[int, int]:
        return norms_of_images(matrix.T)


def _decoder(form: Mechanism) -> MessageCodeEstimator:
    estimator = estimator_for(form)
    if not isinstance(estimator, MessageCodeEstimator):
        raise ParameterError(f"the messages of {form.id} must be summed by its estimator")
    return estimator


def _spread(matrix: Matrix) -> Counts:
    spread: Counts = matrix.max(axis=1) - matrix.min(axis=1)
    return spread


@lru_cache(maxsize=64)
def _apart(form: Mechanism, design: Design) -> LabelSensitivity:
    """The most labels in which two messages differ, and the most that one has and the other lacks.

    Two messages of one class, if there are several classes, have none in common: that is the bound.
    """
    d = form.domain_size
    if design.classes > 1 or design.messages**2 * d > _MOST_PRODUCTS:
        return design.one_report_moves(d)
    held = _decoder(form).held(np.eye(d, dtype=np.int64)).astype(np.float32)
    shared = held.T @ held
    lacked = np.diagonal(shared)[:, None] - shared
    return LabelSensitivity.of_supports(int((lacked + lacked.T).max()), int(lacked.max()))
