"""Confidence limits of a frequency with the noise of devices and of a release.

    f̂ = (B/N − q)/(p − q) + L        B ~ Bin(N, s),   s = q + (p − q)f,   L Laplace

N is the number of reports, or less if their variance is larger than that of a binomial count:
N then gives f̂ the variance that is stated. Each limit is the frequency at which f̂, or a value
farther out, has probability (1 − confidence)/2. Variance and skewness are those at the limit, so a
rare label that drew low has no narrower interval.

The law is summed if N·s(1 − s) ≤ 100; above, it is normal plus Laplace. The Laplace noise replaces
two-sided geometric noise, from which it differs by at most half a step.

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
    """The distribution of f̂: `variance` of the devices' part at f, `rate` and `step` of L.

    All are in units of a frequency. `p` and `q` are scalars, or float64[labels].
    """

    p: float | Floats
    q: float | Floats
    variance: Callable[[Floats], Floats]
    rate: float
    step: float

    def limits(self, estimates: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Lower and upper limits, float64[labels] in [0, 1], of estimates float64[labels]."""
        values, places = np.unique(estimates, return_inverse=True)
        chosen = _thinned(values)
        ends = self._ends(chosen, confidence)
        low, high = (onto_box(np.interp(values, chosen, limits)[places]) for limits in ends)
        return low, high

    def limits_of_each(self, estimates: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Lower and upper limits, float64[labels], if each estimate has its own p and q."""
        low, high = (onto_box(limits) for limits in self._ends(estimates, confidence))
        return low, high

    def _ends(self, estimates: Floats, confidence: float) -> tuple[Floats, Floats]:
        tail, half = (1 - confidence) / 2, self.step / 2
        lower = self._solved(estimates, lambda f: self._above(estimates - half, f) > tail)
        upper = self._solved(estimates, lambda f: self._above(estimates + half, f) >= 1 - tail)
        return lower, upper

    def _solved(self, estimates: Floats, reached: Callable[[Floats], Flags]) -> Floats:
        """The least frequency from which on `reached` is true, of all that make 0 < s < 1.

        Those below 0 and above 1 are cut off after the interpolation, not before.
        """
        gap = self.p - self.q
        low = np.zeros_like(estimates) + (_LEAST_SUPPORT - self.q) / gap
        high = np.zeros_like(estimates) + (1 - _LEAST_SUPPORT - self.q) / gap
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
            q = np.broadcast_to(self.q, f.shape)[summed]
            line = q[:, None], np.broadcast_to(gap, f.shape)[summed][:, None]
            tail[summed] = self._sum(estimates[summed], support[summed], reports[summed], line)
        return tail

    def _sum(
        self, estimates: Floats, support: Floats, reports: Floats, line: tuple[Floats, Floats]
    ) -> Floats:
        q, gap = line
        counts = np.floor(reports * support)[:, None] + _COUNTS
        n, s = reports[:, None], support[:, None]
        possible = (counts >= 0) & (counts <= n)
        counts = np.where(possible, counts, 0.0)
        special = import_module("scipy.special")
        ways = special.gammaln(counts + 1) + special.gammaln(n - counts + 1)
        logs = special.xlogy(counts, s) + special.xlog1py(n - counts, -s) - ways
        weights = np.where(possible, np.exp(logs + special.gammaln(n + 1)), 0.0)
        far = estimates[:, None] - (counts / n - q) / gap
        return np.asarray(
            (weights * _laplace_tail(far * self.rate)).sum(axis=1) / weights.sum(axis=1)
        )


def _laplace_tail(x: Floats) -> Floats:
    """Pr[Y > x] of the standard Laplace law."""
    half = np.exp(-np.abs(x)) / 2
    return np.where(x >= 0, half, 1 - half)


def _thinned(values: Floats) -> Floats:
    """At most 256 of ascending values, including the first and last; limits between are smooth."""
    if len(values) <= _MOST_SOLVED:
        return values
    return values[np.linspace(0, len(values) - 1, _MOST_SOLVED).astype(np.int64)]
