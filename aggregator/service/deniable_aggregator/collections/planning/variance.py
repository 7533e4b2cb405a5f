"""The variance of a frequency by formula, and the reports, errors and detection that follow.

    n·Var(f) = s(1 − s)/(p − q)²·1/t          s = fp + (1 − f)q,  t: the sampling fraction

for people drawn from a population; f(1 − f) less for the people who answered. Over T epochs
with new draws each (`fresh`) the part of the coins is divided by T; with one permanent answer

    V_T = V_∞ + (V_1 − V_∞)/T        V_∞ that of the permanent answers themselves

Sources: docs/mathematics/planning.md, How many reports.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.collections.planning.power import LabelTest
from deniable_estimators.inference.channel import Channel
from deniable_estimators.inference.intervals import clopper_pearson
from deniable_estimators.inference.manipulation import worst_share
from deniable_estimators.inference.score_limits import distances
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from deniable_shared.mechanisms.protocols import Mechanism


MOST_REPORTS = 2**62


@dataclass(frozen=True, slots=True)
class HalfWidth:
    """The half-width for a number of users, at a confidence, of a population or of the users."""

    users: int
    confidence: float
    population: bool

    def __call__(self, precision: Precision) -> float:
        """The half-width of the interval under a precision, as a share of 1."""
        return precision.half_width(self.users, self.confidence)


@dataclass(frozen=True, slots=True)
class Precision:
    """n·Var of a frequency f under a mechanism; `population`: for people drawn from one."""

    mechanism: Mechanism
    frequency: float
    population: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.frequency <= 1:
            raise ParameterError(f"frequency must be in [0, 1], got {self.frequency}")

    @property
    def variance(self) -> float:
        """n·Var of one epoch."""
        return self._variance_of(self.mechanism)

    def over(self, epochs: int, *, repeat: str) -> float:
        """n·Var for n devices that answer in each of `epochs` epochs."""
        people = self._sampling_variance
        one = self.variance - people
        if repeat == "once":
            return self.variance
        if repeat == "fresh" or not isinstance(self.mechanism, MemoizedChain):
            return one / epochs + people
        kept = self._variance_of(self.mechanism.first) - people
        return kept + (one - kept) / epochs + people

    def std_error(self, reports: int) -> float:
        """The standard error of a frequency from `reports` reports."""
        return math.sqrt(self.variance / reports)

    def half_width(self, reports: int, confidence: float) -> float:
        """The half-width of the interval from `reports` reports, if [0, 1] does not cut it off.

        Without a population no interval is shown: then it is the half-width of the normal law.
        """
        if not self.population:
            return -NormalDist().inv_cdf((1 - confidence) / 2) * self.std_error(reports)
        channel = Channel(self.mechanism.p, self.mechanism.q)
        support = channel.q + channel.gap * Fraction(self.frequency)
        trials = np.array([max(round(reports * self.mechanism.sampling_fraction), 1)])
        counts = np.array([round(trials[0] * support)])
        lower, upper = clopper_pearson(counts, trials, (1 - confidence) / 2)
        return float(upper[0] - lower[0]) / 2 / float(channel.gap)

    def reports_for(self, half_width: float, confidence: float) -> int:
        """The least number of reports whose interval has at most this half-width.

        Raises ParameterError if there are too many to count in 64 bits.
        """
        enough = 1
        while self.half_width(enough, confidence) > half_width:
            enough *= 2
            if enough > MOST_REPORTS:
                raise ParameterError(
                    f"half_width must be larger, got {half_width:g}: "
                    f"it needs more than {MOST_REPORTS:,} reports"
                )
        few = enough // 2
        while enough - few > 1:
            middle = (few + enough) // 2
            wide = self.half_width(middle, confidence) > half_width
            few, enough = (middle, enough) if wide else (few, middle)
        return enough

    def detectable(self, reports: int, *, confidence: float, power: float) -> float | None:
        """The least frequency that the exact test detects among all labels; None if none."""
        return self._least_frequency_among(self.mechanism.domain_size, reports, confidence, power)

    def _least_frequency_among(
        self, labels: int, reports: int, confidence: float, power: float
    ) -> float | None:
        p, q, sampling_fraction = (
            float(x) for x in (self.mechanism.p, self.mechanism.q, self.mechanism.sampling_fraction)
        )
        return LabelTest(p, q, sampling_fraction, (1 - confidence) / labels).least_frequency(
            reports, power
        )

    def influence(self, reports: int) -> float:
        """The most that one fake report moves a frequency."""
        return 1 / (self._gap * float(self.mechanism.sampling_fraction) * reports)

    def shift_by(self, liars: float) -> float:
        """The width that an interval gains if the share `liars` of the reports is fake."""
        share = worst_share(liars, self.mechanism.sampling_fraction)
        return share / ((1 - share) * self._gap)

    @property
    def _gap(self) -> float:
        return float(self.mechanism.p - self.mechanism.q)

    @property
    def _sampling_variance(self) -> float:
        """The variance from drawing the people."""
        return self.frequency * (1 - self.frequency) if self.population else 0.0

    def _variance_of(self, mechanism: Mechanism) -> float:
        p, q, f = float(mechanism.p), float(mechanism.q), self.frequency
        support = f * p + (1 - f) * q
        drawn = support * (1 - support) / (p - q) ** 2 / float(mechanism.sampling_fraction)
        return drawn if self.population else drawn - f * (1 - f)


class ScorePrecision(Precision, ABC):
    """The precision of estimates from scores of reports, with the intervals of `score_limits`."""

    __slots__ = ()

    @property
    @abstractmethod
    def _pull(self) -> float:
        """How far one report moves n times the estimate, averaged over both sides."""

    def half_width(self, reports: int, confidence: float) -> float:
        """See `Precision`."""
        if not self.population:
            return Precision.half_width(self, reports, confidence)
        variance, pull = np.array([self.variance / reports]), np.array([self._pull / reports])
        return float(distances(variance, pull, (1 - confidence) / 2)[0])
