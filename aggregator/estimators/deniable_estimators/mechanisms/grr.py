"""Generalized randomized response: how often each value is reported, and the estimates from that.

f̂_v = (c_v/n − q)/(p − q),   Σ_v f̂_v = 1 for every set of reports

A report of y has the score φ(y) = (a_y − qA)/(p − q) for a sum Σ_v a_v·f_v, where A = Σ_v a_v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_estimators.inference.functionals import (
    Cumulative,
    Moments,
    Repetition,
)
from deniable_estimators.inference.label_sums import RowSums
from deniable_estimators.inference.message_laws import TwoLevelLaw, two_level_law
from deniable_estimators.inference.quantities import isotonic_regression
from deniable_estimators.inference.support_counts import HistogramEstimator

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_shared.mechanisms.protocols import Mechanism


@dataclass(frozen=True, slots=True)
class GeneralizedEstimator(HistogramEstimator, RowSums):
    """The estimator of "grr/1". Its tally is the histogram of the reported values."""

    default_projection: ClassVar[str] = "simplex"
    estimand: ClassVar[str] = "labels"
    mechanism: Mechanism
    repeat: str = "once"

    def message_law(self) -> TwoLevelLaw:
        """The law of messages: a message is the choice that it supports."""
        codes = self.mechanism.tally_size
        return two_level_law(self.mechanism, 1, codes, (np.copy, np.copy))

    def supports(self, tallies: Counts) -> Counts:
        return tallies

    def moments(self, rows: Floats, counts: Counts, n: int) -> Moments:
        """Return the reported values' evidence on each row's sum."""
        p, q = float(self.mechanism.p), float(self.mechanism.q)

        def back(scores: Floats) -> Floats:
            sums: Floats = (p - q) * scores + q * scores.sum(axis=1, keepdims=True)
            return sums

        scores = (rows - q * rows.sum(axis=1, keepdims=True)) / (p - q)
        return Moments.of_scores(rows, scores, counts, back)

    def cumulative(
        self, tally: Counts, n: int, *, confidence: float = 0.95, epochs: int = 1
    ) -> Cumulative:
        """As `functionals` of indicators, without a matrix of them."""
        counts, reports = self.checked(tally, n)
        p, q = float(self.mechanism.p), float(self.mechanism.q)
        members = np.arange(1.0, len(counts))
        share = np.cumsum(counts)[:-1] / max(reports, 1)
        inside, outside = p + (members - 1) * q, members * q
        uniform = members / len(counts)
        variance = share * (1 - share)
        least = np.minimum(inside * (1 - inside), outside * (1 - outside))
        cubes = [s * (1 - share) ** 3 - (1 - s) * share**3 for s in (inside, outside)]
        usual = np.maximum(variance, least) * (p - q)
        moments = Moments(
            mean=(share - outside) / (p - q),
            variance=variance / (p - q) ** 2,
            low=-outside / (p - q),
            high=(1 - outside) / (p - q),
            least=least / (p - q) ** 2,
            pulls=(-cubes[1] / usual, cubes[0] / usual),
            uniform_mean=(uniform - outside) / (p - q),
            uniform_variance=uniform * (1 - uniform) / (p - q) ** 2,
        )
        band = moments.functionals(
            reports, Repetition.of(self.mechanism, self.repeat, epochs), confidence
        )
        return Cumulative(band, isotonic_regression(moments.mean))
