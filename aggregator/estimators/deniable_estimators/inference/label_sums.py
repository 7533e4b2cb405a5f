"""Sums of frequencies, for any mechanism whose reports support labels or do not.

A report that supports the labels S has the score φ = (Σ_{v∈S} a_v − qA)/(p − q) for Σ_v a_v·f_v,
with A = Σ_v a_v:

    E[φ | x] = a_x        n·Var(θ̂) = Σ_x f_x·E[φ² | x] − θ²

If the tally is the histogram of the messages, φ² is averaged over the received ones. If it has
supports, E[φ² | x] follows from the law (`second_moments`). Its mean over x is another such sum,
estimated without bias by the raw frequencies and clipped to its possible values.

The distribution function is estimated at every value, its limits at up to 256 of them. F does not
fall, so between two places the lower limit of the one before holds, and the upper limit of the
next. Limits are those of `functionals`. Source: docs/mathematics/supports-and-estimates.md, Sums of
labels.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from deniable_estimators.inference.channel import Channel, Counts, Floats
from deniable_estimators.inference.functionals import (
    Cumulative,
    Functionals,
    Moments,
    Repetition,
    checked_weights,
)
from deniable_estimators.inference.message_laws import TwoLevelLaw, law_of_messages
from deniable_estimators.inference.quantities import isotonic_regression
from deniable_estimators.inference.second_moments import (
    numbers_of_a_row,
    permanent_variances,
    scores_range,
    second_moments,
    uniform_moments,
)
from deniable_estimators.inference.support_counts import HistogramEstimator, SupportEstimator

if TYPE_CHECKING:
    from deniable_estimators.inference.protocols import HasMechanism
    from deniable_shared.mechanisms.protocols import Mechanism

_MOST_PLACES = 256
_LEAST_PLACES = 16
_AT_ONCE = 1 << 18  # floats in a block that fits into a cache
_MOST_ENTRIES = 1 << 26  # places times the floats of one place


class RowSums(SupportEstimator):
    """The part of an estimator for sums of frequencies: `functionals.LinearEstimator`."""

    __slots__ = ()

    @abstractmethod
    def moments(self, rows: Floats, counts: Counts, n: int) -> Moments:
        """Return the reports' evidence on each row's sum."""

    def functionals(
        self,
        weights: Floats,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
    ) -> Functionals:
        counts, reports = self.checked(tally, n)
        rows = checked_weights(weights, self.mechanism.domain_size)
        of = Repetition.of(self.mechanism, self.repeat, epochs)
        return self.moments(rows, counts, reports).functionals(reports, of, confidence)


class LabelSums(RowSums):
    """Sums by the supports of the labels, and the distribution function."""

    __slots__ = ()

    def moments(self, rows: Floats, counts: Counts, n: int) -> Moments:
        """Return the supports' evidence on each row's sum."""
        return moments_of_supports(self, rows, self.supports(counts), n)

    def cumulative(
        self, tally: Counts, n: int, *, confidence: float = 0.95, epochs: int = 1
    ) -> Cumulative:
        counts, reports = self.checked(tally, n)
        size = self.mechanism.domain_size
        places = _places(size, numbers_of_a_row(self.mechanism))
        of = Repetition.of(self.mechanism, self.repeat, epochs)
        steps = (np.arange(size)[None, :] <= places[:, None]).astype(np.float64)
        at = self.moments(steps, counts, reports).functionals(reports, of, confidence)
        if not reports:
            nothing = np.full(size - 1, math.nan)
            zeros = np.zeros(size - 1)
            band = Functionals(nothing, nothing.copy(), zeros, zeros + 1)
            return Cumulative(band, np.full(size - 1, 0.5))
        channel = Channel(self.mechanism.p, self.mechanism.q)
        values = np.cumsum(channel.frequencies(self.supports(counts), reports))[:-1]
        return Cumulative(_everywhere(at, places, values), isotonic_regression(values))


class MessageSums(HistogramEstimator, LabelSums):
    """Sums, if the tally is the histogram of the messages."""

    __slots__ = ()

    def moments(self, rows: Floats, counts: Counts, n: int) -> Moments:  # noqa: ARG002  (LabelSums takes it)
        """Return the messages' evidence on each row's sum."""
        return moments_of_messages(self.mechanism, law_of_messages(self), rows, counts)


def moments_of_messages(
    mechanism: Mechanism, law: TwoLevelLaw, rows: Floats, counts: Counts
) -> Moments:
    """Return the moments from a tally that is the histogram of the messages of such a law."""
    p, q = float(mechanism.p), float(mechanism.q)
    held = np.array([law.supporters(row) for row in rows])
    scores = (held - q * rows.sum(axis=1, keepdims=True)) / (p - q)
    height = max(1, _AT_ONCE // scores.shape[1])

    def back(each: Floats) -> Floats:
        blocks = range(0, len(each), height)
        return np.concatenate([law.back(each[first : first + height]) for first in blocks])

    return Moments.of_scores(rows, scores, counts, back)


def moments_of_supports(estimator: HasMechanism, rows: Floats, supports: Counts, n: int) -> Moments:
    """Return the moments from a tally of how many of n reports support each label."""
    mechanism = estimator.mechanism
    channel = Channel(mechanism.p, mechanism.q)
    shares = channel.frequencies(supports, n) if n else np.zeros(len(supports))
    squares = second_moments(estimator, mechanism, rows)
    mean = rows @ shares
    mean_squares = np.clip(squares @ shares, squares.min(axis=1), squares.max(axis=1))
    low, high = scores_range(mechanism, rows)
    uniform_mean, uniform_variance = uniform_moments(mechanism, rows)
    return Moments(
        mean=mean,
        variance=np.maximum(mean_squares - np.clip(mean, 0.0, 1.0) ** 2, 0.0),
        low=low,
        high=high,
        least=np.maximum(squares - rows * rows, 0.0).min(axis=1),
        pulls=(rows.max(axis=1) / float(channel.gap),) * 2,
        uniform_mean=uniform_mean,
        uniform_variance=uniform_variance,
        permanent=permanent_variances(estimator, rows, shares),
    )


def _places(size: int, numbers: int) -> Counts:
    """Return where limits are computed: everywhere, or evenly; more places if one is cheaper."""
    most = min(_MOST_PLACES, max(_LEAST_PLACES, _MOST_ENTRIES // numbers))
    if size - 1 <= most:
        return np.arange(size - 1)
    return np.unique(np.linspace(0, size - 2, most).round().astype(np.int64))


def _everywhere(at: Functionals, places: Counts, values: Floats) -> Functionals:
    """Return limits at every value: between places, those of the nearest place that surely hold."""
    every = np.arange(len(values))
    before = np.searchsorted(places, every, side="right") - 1
    after = np.searchsorted(places, every, side="left")
    errors = np.interp(every, places, at.std_errors)
    return Functionals(values, errors, at.lower[before], at.upper[after])
