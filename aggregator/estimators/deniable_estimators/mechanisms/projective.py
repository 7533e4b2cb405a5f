"""Projective designs: puts the points on the circle of `cyclic/1`, then decodes as there.

Turn i of the circle is a point and a value (`projective_cycle`). Σ_j v_j·s_{i+j} is a multiple of
s_{i+l} for the point of turn i and the value of turn l: the point supports the value if and only if
i + l is in D. So

    c_l = Σ_{δ ∈ D} h_{δ − l}

is one transform of K numbers; a transform over all vectors would take (q − 1)·K + 1. Points and
values may change places in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.difference_set_sums import (
    reflect,
    shifted_shares,
    shifted_sums,
)
from deniable_estimators.inference.projective_cycle import cycle_points
from deniable_estimators.mechanisms.geometric import GeometricEstimator, sample_distances

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_estimators.inference.sampling import Generator

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ProjectiveEstimator(GeometricEstimator):
    """The estimator of "projective/1". Its tally is the histogram of the K points."""

    @staticmethod
    def supports_of_codes(tallies: Counts, q: int, t: int) -> Counts:
        return _around(tallies, *cycle_points(q, t), (q, t))

    @staticmethod
    def sums_of_points(weights: Counts, q: int, t: int) -> Counts:
        point, value = cycle_points(q, t)
        return _around(weights, value, point, (q, t))

    @staticmethod
    def shares_of_codes(scores: Floats, q: int, t: int) -> Floats:
        point, value = cycle_points(q, t)
        sums = np.empty(scores.shape)
        sums[..., value] = _turned_shares(scores[..., point], (q, t))
        return sums

    @staticmethod
    def shares_of_points(shares: Floats, q: int, t: int) -> Floats:
        point, value = cycle_points(q, t)
        sums = np.empty(len(shares))
        sums[point] = _turned_shares(shares[value], (q, t))
        return sums

    def sample_tally(self, values: Counts, people: Counts, draws: Generator) -> Counts:
        """Draw as on the circle of `cyclic/1`, where a value of turn l is supported from −l on."""
        form, p = self.first_round, float(self.mechanism.p)
        point, value = cycle_points(form.field_order, form.dimension)
        turn, tally = np.empty_like(value), np.empty_like(point)
        turn[value] = np.arange(form.alphabet_size)
        tally[point] = sample_distances(form, p, -turn[values] % form.alphabet_size, people, draws)
        return tally


def _turned_shares(numbers: Floats, space: tuple[int, int]) -> Floats:
    """Return for each turn i the Σ over the turns at distance D from −i."""
    k = numbers.shape[-1]
    sums: Floats = shifted_shares(numbers, *space)[..., -np.arange(k) % k]
    return sums


def _around(numbers: Counts, taken: _Numbers, put: _Numbers, space: tuple[int, int]) -> Counts:
    """Sum the numbers at the turns `taken`, and write each turn's result to `put`."""
    sums = reflect(shifted_sums(numbers[..., taken], *space))
    placed = np.empty_like(sums)
    placed[..., put] = sums
    return placed
