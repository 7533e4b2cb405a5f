"""The law of a message from a window: K = D + w − 1 messages, w of which value v favours.

    M[y, v] = inside if v ≤ y < v + w, else outside

Products with M are differences of cumulated sums: O(K) for a vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Floats


@dataclass(frozen=True, slots=True)
class WindowLaw:
    """D = `values`, w = `window`, and the probability of each message inside and outside."""

    values: int
    window: int
    inside: float
    outside: float

    def __post_init__(self) -> None:
        if self.values < 2 or self.window < 1:
            raise ParameterError(
                f"values must be at least 2 and window at least 1, got {self.values}, {self.window}"
            )
        if not 0 < self.outside < self.inside < 1:
            raise ParameterError(
                f"0 < outside < inside < 1 is needed, got {self.outside}, {self.inside}"
            )

    def messages(self, distribution: Floats) -> Floats:
        """Return Mx: the law of a message, for values of this distribution."""
        sums = np.concatenate([[0.0], np.cumsum(distribution), np.full(self.window - 1, 1.0)])
        sums[self.values :] = sums[self.values]
        reached = sums[1:].copy()
        reached[self.window :] -= sums[1 : self.values]
        law: Floats = self.outside * sums[-1] + (self.inside - self.outside) * reached
        return law

    def back(self, scores: Floats) -> Floats:
        """Return Mᵀs: the expectation of a score, float64[…, K], for each value, float64[…, D]."""
        return self._windowed(scores, self.inside, self.outside)

    def back_squares(self, scores: Floats) -> Floats:
        """Return (M ∘ M)ᵀs."""
        return self._windowed(scores, self.inside**2, self.outside**2)

    def _windowed(self, scores: Floats, inside: float, outside: float) -> Floats:
        sums = np.cumsum(scores, axis=-1)
        windows = sums[..., self.window - 1 :].copy()
        windows[..., 1:] -= sums[..., : self.values - 1]
        expectations: Floats = outside * sums[..., -1:] + (inside - outside) * windows
        return expectations

    def matrix(self) -> Floats:
        """Return Mᵀ, float64[values, messages]."""
        outputs = np.arange(self.values + self.window - 1)[None, :]
        first = np.arange(self.values)[:, None]
        favoured = (first <= outputs) & (outputs < first + self.window)
        return np.where(favoured, self.inside, self.outside)
