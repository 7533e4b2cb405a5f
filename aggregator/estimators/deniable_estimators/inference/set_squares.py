"""E[s² | x] of a sum over the codes that a report supports, if all pairs of codes are alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Floats
    from deniable_shared.analysis.joint_supports import JointSupports


@dataclass(frozen=True, slots=True, eq=False)
class SetSquares:
    """E[s² | x] = slope·g_x + bend·g_x² + constant, s = (Σ_(v in the set) g_v − q·Σ g)/(p − q)."""

    slope: Floats
    bend: float
    constant: Floats

    @classmethod
    def of(cls, joint: JointSupports, total: Floats, squares: Floats) -> Self:
        """Return it for coefficients with this sum and this sum of squares."""
        p, q, r, t = map(float, (joint.p, joint.q, joint.r, joint.t))
        gap = p - q
        return cls(
            slope=2 * (r - t - q * gap) / gap**2 * total,
            bend=(gap - 2 * r + 2 * t) / gap**2,
            constant=((q - t) * squares + (t - q * q) * total**2) / gap**2,
        )

    def at(self, coefficient: Floats, square: Floats) -> Floats:
        """Return E[s² | x] for one value, or its mean over people."""
        moments: Floats = self.slope * coefficient + self.bend * square + self.constant
        return moments

    def of_each(self, coefficients: Floats) -> Floats:
        """Return E[s² | x] for each of [k, values] coefficients."""
        moments: Floats = (
            self.slope[:, None] * coefficients
            + self.bend * coefficients**2
            + self.constant[:, None]
        )
        return moments

    def least_variance(self, low: Floats, high: Floats) -> Floats:
        """Return a lower bound of E[s² | x] − g_x² for coefficients from `low` to `high`."""
        bend = self.bend - 1
        lowest = np.clip(-self.slope / (2 * bend), low, high) if bend > 0 else low
        ends = [self.at(g, g * g) - g * g for g in (low, high, lowest)]
        return np.asarray(np.maximum(np.min(ends, axis=0), 0.0))
