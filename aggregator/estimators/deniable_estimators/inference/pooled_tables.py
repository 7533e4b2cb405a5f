"""The cells of a table, estimated from one or several kinds of reports about it.

    f̂ = Σ_g ω_g·(N_g/n_g − s·q_g)/(p_g − q_g)      N_g supports of a cell of s choices, n_g reports

The kind of a report is drawn without the value. So the kinds are independent given the n_g, and the
weights ω_g may depend on the n_g. The score of one report of a kind has the covariance V_1 that
`joint_supports` gives at the frequencies. If a device answers in T epochs, its reports share the
value (`fresh`) or the permanent answer (`memoized`), of covariance V_∞. By Cauchy and Schwarz, for
every distribution of reports and kinds among devices,

    Cov(f̂) ≤ Σ_g ω_g²·(V_1 + (T − 1)·V_∞)/n_g

Sources: docs/mathematics/supports-and-estimates.md, Sampled parts;
docs/mathematics/repeated-answers.md, Reports of one device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_estimators.inference.channel import Counts, Floats
    from deniable_shared.analysis.joint_supports import JointSupports


class CellEstimates(Protocol):
    """Estimates of the cells of one table."""

    @property
    def n(self) -> int:
        """The number of reports about it."""
        ...

    @property
    def frequencies(self) -> Floats:
        """float64[cells], raw and unbiased; NaN for a cell without reports."""
        ...

    @property
    def reach(self) -> float:
        """The most that replacing one of these reports moves a frequency."""
        ...

    def pulls(self, frequencies: Floats, epochs: int) -> tuple[Floats, Floats]:
        """Return how far one device pulls each estimate down and up, as in `score_limits`."""
        ...

    def variances(self, frequencies: Floats, epochs: int) -> Floats:
        """Return float64[cells]: the variances at these true frequencies; NaN without reports."""
        ...

    def covariance(self, frequencies: Floats, epochs: int) -> Floats:
        """Return float64[cells, cells]: the covariance of all estimates together."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ReportGroup:
    """n reports of one law, with their counted `supports` of each cell of `size` choices.

    `shared` is the law of what a device's reports share, the permanent answer; None if that is the
    value itself. `sampling_fraction` is the share of all reports that are of this kind.
    """

    n: int
    supports: Counts
    size: int
    law: JointSupports
    shared: JointSupports | None = None
    sampling_fraction: Fraction = Fraction(1)

    @property
    def frequencies(self) -> Floats:
        """Raw and unbiased; the expected noise is subtracted as an integer and an exact rest."""
        noise = self.n * self.law.mean(self.size, inside=False)
        whole = math.floor(noise)
        signal: Floats = (self.supports - whole) - np.float64(noise - whole)
        with np.errstate(invalid="ignore"):
            return signal / float(self.n * self.law.gap)

    @property
    def binary(self) -> bool:
        """Whether a report supports a cell once or not at all."""
        return self.size == 1 or self.law.max_support == 1

    @property
    def reach(self) -> float:
        """The largest difference between the scores of two reports."""
        return float(min(self.size, self.law.max_support) / self.law.gap)

    def variances(self, frequencies: Floats, epochs: int) -> Floats:
        """Return V_1 + (T − 1)·V_∞ of each cell."""
        once = _variances(self.law, self.size, frequencies)
        if epochs == 1:
            return once
        if self.shared is None:
            return once + (epochs - 1) * frequencies * (1 - frequencies)
        return once + (epochs - 1) * _variances(self.shared, self.size, frequencies)

    def pulls(self, frequencies: Floats, epochs: int) -> tuple[Floats, Floats]:
        """The pull of one piece of the score, and of what the device's other reports share."""
        others = min(epochs, self.n) - 1
        below, above = _pulls(self.law, self.size, frequencies)
        if self.shared is not None:
            return (1 + others) * below, (1 + others) * above
        return below + others * frequencies, above + others * (1 - frequencies)

    def covariance(self, frequencies: Floats, epochs: int) -> Floats:
        """Return V_1 + (T − 1)·V_∞ of all cells together."""
        once = _covariance(self.law, self.size, frequencies)
        if epochs == 1:
            return once
        if self.shared is None:
            of_values = np.diag(frequencies) - np.outer(frequencies, frequencies)
            return once + (epochs - 1) * of_values
        return once + (epochs - 1) * _covariance(self.shared, self.size, frequencies)


@dataclass(frozen=True, slots=True, eq=False)
class PooledTable:
    """Kinds of reports on the same cells, weighted by their precision at equal frequencies."""

    kinds: tuple[ReportGroup, ...]

    @property
    def n(self) -> int:
        """The number of reports of all kinds."""
        return sum(kind.n for kind in self.kinds)

    @property
    def weights(self) -> Sequence[float]:
        """ω_g, which sum to 1; all 0 without reports."""
        worth = [kind.n / float(kind.law.variance(kind.size, _equal(kind))) for kind in self.kinds]
        return [each / sum(worth) for each in worth] if self.n else [0.0] * len(worth)

    @property
    def frequencies(self) -> Floats:
        """Raw and unbiased; NaN without reports."""
        if not self.n:
            return np.full(len(self.kinds[0].supports), math.nan)
        pairs = zip(self.weights, self.kinds, strict=True)
        every: Floats = np.sum([w * kind.frequencies for w, kind in pairs if kind.n], axis=0)
        return every

    @property
    def reach(self) -> float:
        """The most that one report moves a frequency."""
        pairs = zip(self.weights, self.kinds, strict=True)
        return max((w * kind.reach / kind.n for w, kind in pairs if kind.n), default=math.nan)

    def variances(self, frequencies: Floats, epochs: int) -> Floats:
        """Return the variances of the estimates at these true frequencies."""
        pairs = zip(self.weights, self.kinds, strict=True)
        parts = [w * w / k.n * k.variances(frequencies, epochs) for w, k in pairs if k.n]
        every: Floats = np.sum(parts, axis=0) if parts else np.full(len(frequencies), math.nan)
        return every

    def covariance(self, frequencies: Floats, epochs: int) -> Floats:
        """Return float64[cells, cells]: the covariance of all estimates together."""
        pairs = zip(self.weights, self.kinds, strict=True)
        parts = [w * w / k.n * k.covariance(frequencies, epochs) for w, k in pairs if k.n]
        every: Floats = np.sum(parts, axis=0)
        return every

    def pulls(self, frequencies: Floats, epochs: int) -> tuple[Floats, Floats]:
        """Return the mean pull of all kinds, weighted by the variance that each adds."""
        sides, variance = np.zeros((2, len(frequencies))), np.zeros(len(frequencies))
        for weight, kind in zip(self.weights, self.kinds, strict=True):
            if kind.n:
                part = weight**2 / kind.n * kind.variances(frequencies, epochs)
                sides += part * np.stack(kind.pulls(frequencies, epochs)) * (weight / kind.n)
                variance += part
        below, above = np.divide(sides, variance, out=sides, where=variance > 0)
        return below, above


def _equal(kind: ReportGroup) -> Fraction:
    return Fraction(1, len(kind.supports))


def _pulls(law: JointSupports, size: int, frequencies: Floats) -> tuple[Floats, Floats]:
    """Return the pull of a report: `size` pieces of 0 or 1, or one piece for a parity."""
    gap, together = float(law.gap), min(size, law.group_size)
    mean = (float(law.mean(size, inside=False)) + gap * frequencies) / size
    return together * mean / gap, together * (1 - mean) / gap


def _variances(law: JointSupports, size: int, frequencies: Floats) -> Floats:
    inside, outside = (float(law.square(size, inside=truth)) for truth in (True, False))
    mean = float(law.mean(size, inside=False)) + float(law.gap) * frequencies
    square = frequencies * inside + (1 - frequencies) * outside
    every: Floats = (square - mean * mean) / float(law.gap) ** 2
    return every


def _covariance(law: JointSupports, size: int, frequencies: Floats) -> Floats:
    inside, outside = (float(law.product(size, size, inside=truth)) for truth in (True, False))
    mean = float(law.mean(size, inside=False)) + float(law.gap) * frequencies
    either = frequencies[:, None] + frequencies[None, :]
    product = either * inside + (1 - either) * outside
    every: Floats = (product - np.outer(mean, mean)) / float(law.gap) ** 2
    np.fill_diagonal(every, _variances(law, size, frequencies))
    return every
