"""Cyclic designs: the supports of a code are the reports of the codes at the distances D.

c_v = Σ_{δ ∈ D} h[(v + δ) mod K]        and for weights of the codes, Σ_{δ ∈ D} a[(y − δ) mod K]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.difference_set_sums import (
    reflect,
    shifted_shares,
    shifted_sums,
    spectrum_of,
)
from deniable_estimators.mechanisms.geometric import GeometricEstimator, sample_distances

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_estimators.inference.sampling import Generator


@dataclass(frozen=True, slots=True)
class CyclicEstimator(GeometricEstimator):
    """The estimator of "cyclic/1". Its tally is the histogram of the K codes."""

    @staticmethod
    def supports_of_codes(tallies: Counts, q: int, t: int) -> Counts:
        return shifted_sums(tallies, q, t)

    @staticmethod
    def sums_of_points(weights: Counts, q: int, t: int) -> Counts:
        return reflect(shifted_sums(reflect(weights), q, t))

    @staticmethod
    def shares_of_codes(scores: Floats, q: int, t: int) -> Floats:
        return shifted_shares(scores, q, t)

    @staticmethod
    def shares_of_points(shares: Floats, q: int, t: int) -> Floats:
        spectrum, length = spectrum_of(q, t)
        k = len(shares)
        padded = np.fft.irfft(np.fft.rfft(shares, length) * np.conj(spectrum), length)
        around: Floats = padded[:k] + padded[k : 2 * k]
        return around

    def sample_tally(self, values: Counts, people: Counts, draws: Generator) -> Counts:
        """Draw a distance for each person, in the difference set or not."""
        return sample_distances(self.first_round, float(self.mechanism.p), values, people, draws)
