"""The mean by a window of outputs: how often each output was told, and what that says of the mean.

    x̄ = ½ + (ȳ − (M − 1)/2)/((p − q)(M − w))     ȳ the mean of the outputs 0 … M − 1

The mean as a share of the way from the lowest value to the highest. The variance of an output is at
least that at a point mass in x̄, because the second moment is convex in the value; the larger of
that and the sample's goes into the standard error, so that a lucky sample never claims certainty.

Reports of one device in T epochs share its value (`fresh`), whose variance is at most that of a
value at the ends, or its permanent answer (`memoized`): n·Var(ȳ) ≤ V + (T − 1)·C, where C, the
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
from deniable_aggregator.estimate.trust import influence, reports_to_leave
from deniable_aggregator.estimators.contract import Payloads, checked_payloads, checked_tally
from deniable_shared.chains import Renewed
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms.contract import Mechanism
from deniable_shared.mechanisms.discrete_piecewise import PiecewiseMean

__all__ = ["PiecewiseMeanEstimator"]


@dataclass(frozen=True, slots=True)
class PiecewiseMeanEstimator:
    """The estimator of "discrete-piecewise/1". Its tally is the histogram of the outputs."""

    default_projection: ClassVar[str] = "clip"
    tells: ClassVar[str] = "mean"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def _first(self) -> PiecewiseMean:
        chain = self.mechanism
        return cast(PiecewiseMean, chain.first if isinstance(chain, Renewed) else chain)

    @property
    def channel(self) -> Channel:
        """The law of an output as a share of M − 1, as if it were a bit."""
        outputs, window = self._first.outputs, self._first.window
        gap = (self.mechanism.p - self.mechanism.q) * Fraction(outputs - window, outputs - 1)
        return Channel((1 + gap) / 2, (1 - gap) / 2)

    def tally(self, payloads: Payloads) -> Counts:
        told = checked_payloads(payloads, self.mechanism.payload_size)[:, 0]
        histogram = np.bincount(told, minlength=self.mechanism.tally_size)
        if len(histogram) > self.mechanism.tally_size:
            raise DecodeError(f"payloads must hold outputs below {self.mechanism.tally_size}")
        return histogram.astype(np.int64, copy=False)

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
        counts, reports = checked_tally(tally, n, self.mechanism.tally_size)
        if counts.sum() != reports:
            raise ParameterError(f"tally must add up to n = {reports}, got {counts.sum()}")
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
        """Mean output as a share of M − 1, its standard error, and limits of its expectation."""
        if not n:
            return math.nan, math.nan, 0.0, 1.0
        top = len(counts) - 1
        outputs = np.arange(top + 1)
        mean = int(counts @ outputs) / (n * top)
        square = int(counts @ outputs**2) / (n * top * top)
        variance = max(square - mean * mean, self._least_variance(mean), 0.0)
        together = variance + (epochs - 1) * self._covariance(mean, square, variance)
        error = math.sqrt(together / n)
        least, most = mean_limits(mean, error, max(n / epochs, 1.0), tail)
        return mean, error, least, most

    def _least_variance(self, mean: float) -> float:
        """Of an output whose expectation is `mean`: that of one and the same value."""
        p, top, window = float(self.mechanism.p), self._first.outputs - 1, self._first.window
        reach = float(self.channel.gap) / 2
        centre = min(max((mean - 0.5) / (2 * reach), -0.5), 0.5) * (top + 1 - window)
        every = sum((output - top / 2) ** 2 for output in range(top + 1))
        inside = window * centre**2 + window * (window**2 - 1) / 12
        moment = p * inside / window + (1 - p) * (every - inside) / (top + 1 - window)
        return moment / top**2 - (2 * reach * centre / (top + 1 - window)) ** 2

    def _covariance(self, mean: float, square: float, variance: float) -> float:
        """The most that two reports of one device have in common."""
        chain = self.mechanism
        if isinstance(chain, Renewed):
            kept, top = float(chain.kept), self._first.outputs - 1
            middle = (mean - 0.5) ** 2
            uniform = (top + 2) / (12 * top)  # second moment about ½ of an output drawn anew
            shared = kept * (square - mean + 0.25 - (1 - kept) * uniform) - middle
            return min(max(shared, 0.0), variance)
        gap = float(self.channel.gap)
        position = min(max((mean - 0.5) / gap + 0.5, 0.0), 1.0)
        return min(gap * gap * position * (1 - position), variance)
