"""The mean by a window of outputs: how often each was told, and what that says of the mean.

    x̄ = ½ + w·ā/(2(p − q)W)        ā the mean score of the outputs, W that of all of the last window

The mean as a share of the way from the lowest value to the highest. Scores are those of `windowed`:
equally spaced in `discrete-piecewise/1`. The variance of an output is at least that at a point mass
in x̄, because the second moment is convex in the value; the larger of that and the sample's goes
into the standard error, so that a lucky sample never claims certainty.

Reports of one device in T epochs share its value (`fresh`), whose variance is at most that of a
value at the ends, or its permanent answer (`memoized`): n·Var(ā) ≤ V + (T − 1)·C, where C, the
covariance of two reports, is bounded accordingly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, cast

import numpy as np

from deniable_aggregator.estimate import Estimate, check_epochs
from deniable_aggregator.estimate.bounded import mean_limits
from deniable_aggregator.estimate.channel import Channel, Counts
from deniable_aggregator.estimate.debias import tail_of
from deniable_aggregator.estimate.projection import onto_box
from deniable_aggregator.estimate.reports import Payloads, checked_histogram, checked_payloads
from deniable_aggregator.estimate.trust import influence, reports_to_leave
from deniable_shared.chains import Renewed
from deniable_shared.errors import DecodeError
from deniable_shared.mechanisms.contract import Mechanism
from deniable_shared.mechanisms.windowed import WindowedMean, moments

__all__ = ["WindowedMeanEstimator"]


@dataclass(frozen=True, slots=True)
class WindowedMeanEstimator:
    """Of "discrete-piecewise/1" and "optimal-mean/1". Its tally is the histogram of the outputs."""

    default_projection: ClassVar[str] = "clip"
    tells: ClassVar[str] = "mean"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def _first(self) -> WindowedMean:
        chain = self.mechanism
        return cast(WindowedMean, chain.first if isinstance(chain, Renewed) else chain)

    @property
    def channel(self) -> Channel:
        """The law of a score as a share of their whole range, as if it were a bit."""
        scores, window = self._first.scores, self._first.window
        of_window = Fraction(sum(scores[len(scores) - window :]), window)
        gap = (self.mechanism.p - self.mechanism.q) * of_window / max(scores)
        return Channel((1 + gap) / 2, (1 - gap) / 2)

    def tally(self, payloads: Payloads) -> Counts:
        told = checked_payloads(payloads, self.mechanism.payload_size)[:, 0]
        histogram = np.bincount(told, minlength=self.mechanism.tally_size)
        if len(histogram) > self.mechanism.tally_size:
            raise DecodeError(f"payloads must hold outputs below {self.mechanism.tally_size}")
        return histogram.astype(np.int64, copy=False)

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        return checked_histogram(tally, n, self.mechanism.tally_size)

    def supports(self, tallies: Counts) -> Counts:
        return tallies[..., :0]

    def estimate(
        self,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
        family: str = "each",
    ) -> Estimate:
        counts, reports = self.checked(tally, n)
        check_epochs(epochs)
        tail = tail_of(confidence, family, 1)
        channel = self.channel
        share, error, least, most = self._support(counts, reports, epochs, tail)
        limits = np.array([least]), np.array([most])
        told = np.array([round(share * reports) if reports else 0])
        return Estimate(
            frequencies=channel.frequency_of(np.array([share])),
            std_errors=np.array([error / float(channel.gap)]),
            lower=onto_box(channel.frequency_of(limits[0])),
            upper=onto_box(channel.frequency_of(limits[1])),
            n=reports,
            confidence=confidence,
            family=family,
            reports_to_leave=reports_to_leave(told, reports, *limits),
            influence=influence(channel, reports, epochs=epochs),
            channel=channel,
            epochs=epochs,
        )

    def _support(
        self, counts: Counts, n: int, epochs: int, tail: float
    ) -> tuple[float, float, float, float]:
        """Mean score as a share of their range, its standard error, limits of its expectation."""
        if not n:
            return math.nan, math.nan, 0.0, 1.0
        top = max(self._first.scores)
        told = list(
            zip(counts.tolist(), (score + top for score in self._first.scores), strict=True)
        )
        mean = sum(count * score for count, score in told) / (2 * top * n)
        square = sum(count * score * score for count, score in told) / (4 * top * top * n)
        variance = max(square - mean * mean, self._least_variance(mean), 0.0)
        together = variance + (epochs - 1) * self._covariance(mean, square, variance)
        error = math.sqrt(together / n)
        least, most = mean_limits(mean, error, max(n / epochs, 1.0), tail)
        return mean, error, least, most

    def _least_variance(self, mean: float) -> float:
        """Of a score whose expectation is `mean`: that of one and the same value."""
        starts = moments(self._first.scores, self._first.window, self.mechanism.p)
        places, squares = zip(*((float(at), float(moment)) for at, moment in starts), strict=True)
        reach = float(self.channel.gap) / 2
        answer = min(max((mean - 0.5) / reach, -1.0), 1.0)
        return float(np.interp(answer, places, squares) - answer**2) * reach**2

    def _covariance(self, mean: float, square: float, variance: float) -> float:
        """The most that two reports of one device have in common."""
        chain = self.mechanism
        if isinstance(chain, Renewed):
            kept, scores = float(chain.kept), self._first.scores
            middle = (mean - 0.5) ** 2
            top = max(scores)
            uniform = sum((score / top) ** 2 for score in scores) / (4 * len(scores))
            shared = kept * (square - mean + 0.25 - (1 - kept) * uniform) - middle
            return min(max(shared, 0.0), variance)
        gap = float(self.channel.gap)
        position = min(max((mean - 0.5) / gap + 0.5, 0.0), 1.0)
        return min(gap * gap * position * (1 - position), variance)
