"""Confidence limits of a frequency that is read through devices' noise and a release's noise.

    f̂ = (B/N − q)/(p − q) + L        B ~ Bin(N, s),   s = q + (p − q)f,   L Laplace

N is the number of reports, or less where their variance is larger than that of a binomial count:
N then gives f̂ the variance that is stated. Each limit is the frequency at which f̂, or a value
farther out, has probability (1 − confidence)/2. Variance and skewness are those at the limit, so a
rare label that drew low has no narrower interval.

The law is summed where N·s(1 − s) ≤ 100; above, it is normal plus Laplace. The Laplace noise stands
for two-sided geometric noise, from which it lies at most half a step away.

Source: Clopper and Pearson 1934, for a sum of two variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_aggregator.releases.kinds.error_bars import normal_laplace_tail
from deniable_estimators.inference.projection import onto_box

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_estimators.inference.channel import Floats

_HALVINGS = 30
_MOST_SOLVED = 256
_LEAST_SUPPORT = 1e-9
_SUMMED_VARIANCE = 100.0
_COUNTS = np.arange(-100.0, 121.0)
"""Counts around N·s that are summed: ten standard deviations, none of which is above ten."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class NoisyFrequency:
    """How f̂ is distributed: the `variance` of the devices' part at f, the `rate` and `step` of L.

    All are in units of a frequency.
    """

    p: float
    q: float
    variance: Callable[[Floats], Floats]
    rate: float
    step: float

    def limits(self, estimates: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Lower and upper limits, float64[labels] in [0, 1], of estimates float64[labels]."""
        values, places = np.unique(estimates, return_inverse=True)
        chosen = _thinned(values)
        tail = (1 - confidence) / 2
        lower = self._solved(chosen, lambda f: self._above(chosen - self.step / 2, f) > tail)
        upper = self._solved(chosen, lambda f: self._above(chosen + self.step / 2, f) >= 1 - tail)
        between = (np.interp(values, chosen, limits)[places] for limits in (lower, upper))
        low, high = (onto_box(limits) for limits in between)
        return low, high

    def _solved(self, estimates: Floats, reached: Callable[[Floats], Flags]) -> Floats:
        """The least frequency from which on it is reached, of all that make 0 < s < 1.

        Those below 0 and above 1 are cut off after the interpolation, not before.
        """
        low = np.full_like(estimates, (_LEAST_SUPPORT - self.q) / (self.p - self.q))
        high = np.full_like(estimates, (1 - _LEAST_SUPPORT - self.q) / (self.p - self.q))
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            enough = reached(middle)
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return high

    def _above(self, estimates: Floats, f: Floats) -> Floats:
        """Pr[f̂ > estimate] at the frequency f; it grows with f."""
        support, gap = self.q + (self.p - self.q) * f, self.p - self.q
        variance = self.variance(f)
        spread = support * (1 - support)
        reports = np.maximum(spread / (gap**2 * variance), 1.0)
        summed = reports * spread <= _SUMMED_VARIANCE
        tail = normal_laplace_tail(estimates - f, np.sqrt(variance), self.rate)
        if summed.any():
            tail[summed] = self._sum(estimates[summed], support[summed], reports[summed])
        return tail

    def _sum(self, estimates: Floats, support: Floats, reports: Floats) -> Floats:
        counts = np.floor(reports * support)[:, None] + _COUNTS
        n, s = reports[:, None], support[:, None]
        possible = (counts >= 0) & (counts <= n)
        counts = np.where(possible, counts, 0.0)
        special = import_module("scipy.special")
        ways = special.gammaln(counts + 1) + special.gammaln(n - counts + 1)
        logs = special.xlogy(counts, s) + special.xlog1py(n - counts, -s) - ways
        weights = np.where(possible, np.exp(logs + special.gammaln(n + 1)), 0.0)
        far = estimates[:, None] - (counts / n - self.q) / (self.p - self.q)
        return np.asarray(
            (weights * _laplace_tail(far * self.rate)).sum(axis=1) / weights.sum(axis=1)
        )


def _laplace_tail(x: Floats) -> Floats:
    """Pr[Y > x] of the standard Laplace law."""
    half = np.exp(-np.abs(x)) / 2
    return np.where(x >= 0, half, 1 - half)


def _thinned(values: Floats) -> Floats:
    """At most 256 of ascending values, first and last among them; limits between are smooth."""
    if len(values) <= _MOST_SOLVED:
        return values
    return values[np.linspace(0, len(values) - 1, _MOST_SOLVED).astype(np.int64)]
