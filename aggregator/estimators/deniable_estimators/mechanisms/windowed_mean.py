"""The mean by a window of outputs: how often each is reported, and the mean from that.

    x̄ = ½ + w·ā/(2(p − q)W)        ā the mean score of the outputs, W that of all of the last window

This is the mean as a share of the way from the lowest value to the highest. The mechanism has the
scores; in `discrete-piecewise/1` they are equally spaced. The variance of an output is at least
that at a point mass in x̄, because the second moment is convex in the value. The standard error
uses the larger of that and the sample's, so a lucky sample never claims certainty.

Reports of one device in T epochs depend on each other as in `functionals`.

Source: docs/mathematics/numbers.md, Windows of outputs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from deniable_estimators.inference.channel import Channel, Counts
from deniable_estimators.inference.debias import Estimate, tail_of
from deniable_estimators.inference.functionals import Moments, Repetition
from deniable_estimators.inference.payload_arrays import (
    Payloads,
    checked_histogram,
    checked_payloads,
)
from deniable_estimators.inference.public_scores import Ceiling, PublicScores
from deniable_estimators.inference.score_estimates import estimate_of_scores
from deniable_shared.errors import DecodeError
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.windowed_mean import WindowedMean, moments

if TYPE_CHECKING:
    from deniable_shared.mechanisms.protocols import Mechanism


@dataclass(frozen=True, slots=True)
class WindowedMeanEstimator:
    """The estimator of "discrete-piecewise/1" and "optimal-mean/1".

    Its tally is the histogram of the outputs.
    """

    default_projection: ClassVar[str] = "clip"
    estimand: ClassVar[str] = "mean"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def _first(self) -> WindowedMean:
        chain = self.mechanism
        return cast("WindowedMean", chain.first if isinstance(chain, MemoizedChain) else chain)

    @property
    def channel(self) -> Channel:
        """The law of a score as a share of the whole range, as if it were a bit."""
        scores, window = self._first.scores, self._first.window
        of_window = Fraction(sum(scores[len(scores) - window :]), window)
        gap = (self.mechanism.p - self.mechanism.q) * of_window / max(scores)
        return Channel((1 + gap) / 2, (1 - gap) / 2)

    def tally(self, payloads: Payloads) -> Counts:
        outputs = checked_payloads(payloads, self.mechanism.payload_size)[:, 0]
        histogram = np.bincount(outputs, minlength=self.mechanism.tally_size)
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
        of = Repetition.of(self.mechanism, self.repeat, epochs)
        sure = 1 - 2 * tail_of(confidence, family, 1)
        moments = self._moments(counts, reports)
        return estimate_of_scores(
            moments.functionals(reports, of, sure),
            (moments.low, moments.high),
            reports,
            confidence=confidence,
            family=family,
            epochs=epochs,
        )

    def public_mean(self) -> PublicScores:
        """See `PublicMean`: the second moment is convex in the value, so its ends bound it."""
        first = self._first
        of_window = sum(first.scores[len(first.scores) - first.window :]) / first.window
        gain = 2 * float(self.mechanism.p - self.mechanism.q) * of_window
        starts = first.moments(self.mechanism.p)
        none, every = ((1 + 2 * float(at) + float(m)) / 4 for at, m in (starts[0], starts[-1]))
        weights = np.array([[score / gain for score in first.scores]])
        return PublicScores.of_messages(weights, np.array([0.5]), (Ceiling.between(none, every),))

    def _moments(self, counts: Counts, n: int) -> Moments:
        """The moments of the scores, as shares of the way from the lowest value to the highest."""
        every, channel = self._first.scores, self.channel
        top, gap, of = max(every), float(channel.gap), max(n, 1)
        scored = list(zip(counts.tolist(), (score + top for score in every), strict=True))
        mean = sum(count * score for count, score in scored) / (2 * top * of)
        square = sum(count * score * score for count, score in scored) / (4 * top * top * of)
        least = self._least_variance(mean)
        uniform = sum((score / top) ** 2 for score in every) / (4 * len(every))
        return Moments(
            mean=channel.frequency_of(np.array([mean])),
            variance=np.array([max(square - mean * mean, 0.0) / gap**2]),
            low=channel.frequency_of(np.zeros(1)),
            high=channel.frequency_of(np.ones(1)),
            least=np.array([max(least, 0.0) / gap**2]),
            pulls=(np.full(1, math.inf), np.full(1, math.inf)),
            uniform_mean=np.full(1, 0.5),
            uniform_variance=np.array([uniform / gap**2]),
        )

    def _least_variance(self, mean: float) -> float:
        """The variance of a score with expectation `mean`, if all people have the same value."""
        starts = moments(self._first.scores, self._first.window, self.mechanism.p)
        places, squares = zip(*((float(at), float(moment)) for at, moment in starts), strict=True)
        reach = float(self.channel.gap) / 2
        answer = min(max((mean - 0.5) / reach, -1.0), 1.0)
        return float(np.interp(answer, places, squares) - answer**2) * reach**2
