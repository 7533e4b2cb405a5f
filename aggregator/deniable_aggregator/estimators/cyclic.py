"""Cyclic designs: the supports of a code are the reports of the codes D further round.

c_v = Σ_{δ ∈ D} h[(v + δ) mod K]        and of weights of the codes, Σ_{δ ∈ D} a[(y − δ) mod K]
"""

from __future__ import annotations

from dataclasses import dataclass

from deniable_aggregator.estimate.channel import Counts
from deniable_aggregator.estimate.correlation import shifted_sums, turned_back
from deniable_aggregator.estimators.geometric import GeometricEstimator

__all__ = ["CyclicEstimator"]


@dataclass(frozen=True, slots=True)
class CyclicEstimator(GeometricEstimator):
    """The estimator of "cyclic/1". Its tally is the histogram of the K codes."""

    @staticmethod
    def supports_of_codes(tallies: Counts, q: int, t: int) -> Counts:
        return shifted_sums(tallies, q, t)

    @staticmethod
    def sums_of_points(weights: Counts, q: int, t: int) -> Counts:
        return turned_back(shifted_sums(turned_back(weights), q, t))
