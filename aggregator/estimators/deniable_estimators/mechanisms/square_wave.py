"""Square wave: how often each output is reported, and where people are on the scale.

Three readings of one histogram, for three purposes:

    raw        f̂ = Σ_y (c_y/n)·φ(y), unbiased: φ = W⁻¹M(MᵀW⁻¹M)⁻¹, the least squares that are best
               for uniform answers (W: the law of outputs there). The error of one value is large,
               as its neighbours' outputs are nearly the same; that of the mean is small.
    band       for the distribution function F, valid and narrow. A ramp r ≤ 1[v ≤ j] that falls to
               0 over h + 1 values has a smaller error than the step. E r ≤ F(j) for every
               distribution, so its lower limit holds for F(j); likewise above. h depends on n, ε
               and D only: it makes the band narrowest for uniform answers.
    fitted     the most likely distribution by EM, for presentation and as the value of quantiles;
               biased, without an interval of its own.

Intervals come from the first two only. Tally: the histogram of the outputs.
Source: docs/mathematics/numbers.md, Square wave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_estimators.inference.debias import Estimate, tail_of
from deniable_estimators.inference.functionals import (
    Cumulative,
    Moments,
    Repetition,
)
from deniable_estimators.inference.label_sums import RowSums
from deniable_estimators.inference.likelihood import fit, fit_smoothed
from deniable_estimators.inference.payload_arrays import (
    first_round_as,
)
from deniable_estimators.inference.public_scores import PublicScores, ceilings_of
from deniable_estimators.inference.score_estimates import estimate_of_scores
from deniable_estimators.inference.support_counts import HistogramEstimator
from deniable_estimators.inference.window_law import WindowLaw
from deniable_shared.mechanisms.memoization import MemoizedChain
from deniable_shared.mechanisms.square_wave import SquareWave

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_shared.mechanisms.protocols import Mechanism

_PLACES = 32  # confidence of the band at which ramps are compared


@dataclass(frozen=True, slots=True)
class SquareWaveEstimator(HistogramEstimator, RowSums):
    """The estimator of "square-wave/1". Its tally is the histogram of the outputs."""

    default_projection: ClassVar[str] = "simplex"
    estimand: ClassVar[str] = "distribution"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def law(self) -> WindowLaw:
        """The law of one report."""
        chain = self.mechanism
        first = first_round_as(chain, SquareWave, SquareWave.id)
        inside = chain.p / first.window
        outside = (1 - chain.p) / (first.outputs - first.window)
        return WindowLaw(first.domain_size, first.window, float(inside), float(outside))

    def supports(self, tallies: Counts) -> Counts:
        """Return how many outputs are in the window of each value."""
        sums = np.concatenate([np.zeros_like(tallies[..., :1]), tallies.cumsum(axis=-1)], axis=-1)
        size = self.mechanism.domain_size
        windows: Counts = sums[..., -size:] - sums[..., :size]
        return windows

    def estimate(
        self,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
        family: str = "each",
    ) -> Estimate:
        """Raw frequencies and their intervals; projected("simplex") gives the fitted ones."""
        counts, reports = self.checked(tally, n)
        tail = tail_of(confidence, family, self.mechanism.domain_size)
        each = self.moments(np.eye(self.mechanism.domain_size), counts, reports).functionals(
            reports, Repetition.of(self.mechanism, self.repeat, epochs), 1 - 2 * tail
        )
        scores = _scores(self.law)
        raw = estimate_of_scores(
            each,
            (scores.min(axis=1), scores.max(axis=1)),
            reports,
            confidence=confidence,
            family=family,
            epochs=epochs,
        )
        return replace(raw, fitted=fit(self.law, counts).distribution) if reports else raw

    def public_scores(self, rows: Floats) -> PublicScores:
        """See `PublicSums`: the raw reading."""
        scores = rows @ _scores(self.law)
        ceilings = ceilings_of(rows, self.law.back(scores * scores))
        read = PublicScores.of_messages(scores, np.zeros(len(rows)), ceilings)
        if not isinstance(self.mechanism, MemoizedChain):
            return read
        kept = float(self.mechanism.keep_probability)
        expected = kept * scores + (1 - kept) * scores.mean(axis=1, keepdims=True)
        first = SquareWaveEstimator(self.mechanism.first)
        return replace(read, permanent=ceilings_of(rows, first.law.back(expected * expected)))

    def blur(self, devices: float) -> int:
        """See `BlurredSums`: the slope of the band at 95 %."""
        return _best_slope(self.law, max(1, round(devices)), 1.96)

    def fitted(self, tally: Counts, n: int, *, smooth: bool = False) -> Floats:
        """Return the most likely distribution, or its smoothed form.

        Raises ParameterError at n = 0.
        """
        counts, _ = self.checked(tally, n)
        return fit_smoothed(self.law, counts) if smooth else fit(self.law, counts).distribution

    def cumulative(
        self, tally: Counts, n: int, *, confidence: float = 0.95, epochs: int = 1
    ) -> Cumulative:
        """Return raw values of F; the limits are those of ramps."""
        counts, reports = self.checked(tally, n)
        of = Repetition.of(self.mechanism, self.repeat, epochs)
        z = -NormalDist().inv_cdf(tail_of(confidence, "each", 1))
        devices = max(reports / of.epochs, 1.0)
        slope = _best_slope(self.law, round(devices), round(z, 6)) if reports else 0
        size = self.mechanism.domain_size
        ramps, steps = (
            self.moments(_ramps(size, each), counts, reports).functionals(reports, of, confidence)
            for each in (slope, 0)
        )
        reaching = np.concatenate([ramps.upper[slope:], np.ones(slope)])
        band = replace(steps, lower=ramps.lower, upper=reaching)
        if not reports:
            return Cumulative(band, np.full(size - 1, 0.5))
        return Cumulative(band, np.cumsum(fit(self.law, counts).distribution)[:-1])

    def moments(self, rows: Floats, counts: Counts, n: int) -> Moments:
        """Return the outputs' evidence on each row's sum."""
        scores = rows @ _scores(self.law)
        return Moments.of_scores(rows, scores, counts, self.law.back)


def _ramps(size: int, slope: int) -> Floats:
    """Return row j of size − 1: at most 1[v ≤ j], falling over slope + 1 values to 0 at j + 1."""
    distance = np.arange(1, size)[:, None] - np.arange(size)[None, :]
    return np.clip(distance / (slope + 1), 0.0, 1.0)


@lru_cache(maxsize=4)
def _scores(law: WindowLaw) -> Floats:
    """Return φ, float64[values, outputs], with E[φ_v(Y) | x] = 1[x = v]."""
    matrix = law.matrix()
    weighted = matrix / matrix.mean(axis=0)
    scores: Floats = np.linalg.solve(weighted @ matrix.T, weighted)
    scores.flags.writeable = False
    return scores


@lru_cache(maxsize=64)
def _best_slope(law: WindowLaw, devices: int, z: float) -> int:
    """Return h of the least mean distance of the lower limits from F, for uniform answers."""
    usual, places = law.matrix().mean(axis=0), np.linspace(0, law.values - 2, _PLACES).astype(int)

    def distance(slope: int) -> float:
        rows = _ramps(law.values, slope)[places]
        scores = rows @ _scores(law)
        variance = (scores * scores) @ usual - (scores @ usual) ** 2
        missed = (places + 1) / law.values - rows.mean(axis=1)
        return float((missed + z * np.sqrt(np.maximum(variance, 0.0) / devices)).mean())

    slopes = [0, *(1 << power for power in range((law.values // 2).bit_length()))]
    return min(slopes, key=distance)
