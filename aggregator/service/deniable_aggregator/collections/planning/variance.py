"""The variance of a frequency by formula, and what follows: reports, errors, what can be seen.

    n·Var(f) = s(1 − s)/(p − q)²·1/told        s = fp + (1 − f)q

among people drawn from a population; f(1 − f) less for the very people who answered. Over T epochs
with new draws each (`fresh`) what the coins add is divided by T; of one permanent answer

    V_T = V_∞ + (V_1 − V_∞)/T        V_∞ that of the permanent answers themselves

Sources: local-dp §0, §9, §16, §18.
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


@dataclass(frozen=True, slots=True)
class HalfWidth:
    """So many users, and of whom and how sure the intervals are that they are shown with."""

    users: int
    confidence: float
    population: bool

    def __call__(self, precision: Precision) -> float:
        """The half-width of that interval."""
        return precision.half_width(self.users, self.confidence)


@dataclass(frozen=True, slots=True)
class Precision:
    """What n·Var of a frequency f is under a mechanism; `population` as intervals speak of it."""

    mechanism: Mechanism
    frequency: float
    population: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.frequency <= 1:
            raise ParameterError(f"frequency must lie in [0, 1], got {self.frequency}")

    @property
    def variance(self) -> float:
        """n·Var of one epoch."""
        return self._variance_of(self.mechanism)

    def over(self, epochs: int, *, repeat: str) -> float:
        """n·Var for n devices that answer in all of so many epochs."""
        people = self._sampling_variance
        one = self.variance - people
        if repeat == "once":
            return self.variance
        if repeat == "fresh" or not isinstance(self.mechanism, MemoizedChain):
            return one / epochs + people
        kept = self._variance_of(self.mechanism.first) - people
        return kept + (one - kept) / epochs + people

    def std_error(self, reports: int) -> float:
        """Of a frequency from so many reports."""
        return math.sqrt(self.variance / reports)

    def half_width(self, reports: int, confidence: float) -> float:
        """Of the interval that so many reports show, where [0, 1] does not cut it off.

        Of the very people who answer none is shown: for them it is that of the normal law.
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
        """The least number of reports whose interval is no wider."""
        enough = 1
        while self.half_width(enough, confidence) > half_width:
            enough *= 2
        few = enough // 2
        while enough - few > 1:
            middle = (few + enough) // 2
            wide = self.half_width(middle, confidence) > half_width
            few, enough = (middle, enough) if wide else (few, middle)
        return enough

    def detectable(self, reports: int, *, confidence: float, power: float) -> float | None:
        """The least frequency that the exact test finds, among all labels; None if 1 is not."""
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
        """How far one made-up report moves a frequency, at most."""
        return 1 / (self._gap * float(self.mechanism.sampling_fraction) * reports)

    def shift_by(self, liars: float) -> float:
        """How much wider an interval gets, in all, if a share of the reports is made up."""
        share = worst_share(liars, self.mechanism.sampling_fraction)
        return share / ((1 - share) * self._gap)

    @property
    def _gap(self) -> float:
        return float(self.mechanism.p - self.mechanism.q)

    @property
    def _sampling_variance(self) -> float:
        """What drawing the people adds."""
        return self.frequency * (1 - self.frequency) if self.population else 0.0

    def _variance_of(self, mechanism: Mechanism) -> float:
        p, q, f = float(mechanism.p), float(mechanism.q), self.frequency
        support = f * p + (1 - f) * q
        drawn = support * (1 - support) / (p - q) ** 2 / float(mechanism.sampling_fraction)
        return drawn if self.population else drawn - f * (1 - f)


class ScorePrecision(Precision, ABC):
    """Of what is told by the scores of reports: intervals are those of `score_limits`."""

    __slots__ = ()

    @property
    @abstractmethod
    def _pull(self) -> float:
        """How far one report pulls n times the estimate, the mean of both sides."""

    def half_width(self, reports: int, confidence: float) -> float:
        """See `Precision`."""
        if not self.population:
            return Precision.half_width(self, reports, confidence)
        variance, pull = np.array([self.variance / reports]), np.array([self._pull / reports])
        return float(distances(variance, pull, (1 - confidence) / 2)[0])
