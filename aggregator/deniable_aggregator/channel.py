"""The channel of a pure protocol: supports become raw frequencies and their standard errors.

A message supports value v with probability p if v is the sender's value and q if it is not, so

    f̂_v = (c_v/n − q)/(p − q)         Var(f̂_v) = s(1 − s)/(n (p − q)²),   s = f_v p + (1 − f_v) q

for reporters drawn independently from a population in which v has frequency f_v. Given the very
sample the variance is smaller by f_v(1 − f_v)/n. Source: Wang et al. 2017; local-dp §0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable_shared.errors import ParameterError

__all__ = ["Channel", "Counts", "Floats"]

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Channel:
    """Support probabilities, exactly those the sampler realises: 0 ≤ q < p ≤ 1."""

    p: Fraction
    q: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.q < self.p <= 1:
            raise ParameterError(f"p and q must satisfy 0 ≤ q < p ≤ 1, got {self.p} and {self.q}")

    @property
    def gap(self) -> Fraction:
        """p − q: what one true answer adds to its expected support."""
        return self.p - self.q

    def frequencies(self, counts: Counts, n: int) -> Floats:
        """Raw unbiased frequencies of `counts` (any shape) of n ≥ 1 reports; they may be negative.

        Correct to a few units in the last place: the expected noise n·q leaves as an integer and
        an exact rest, so nothing cancels in floating point.
        """
        noise = n * self.q
        whole = math.floor(noise)
        signal: Floats = (counts - whole) - np.float64(noise - whole)
        return signal / float(n * self.gap)

    def std_errors(self, frequencies: Floats, n: int) -> Floats:
        """Standard deviation of f̂ for the population, by the formula at clip(f̂, 0, 1).

        Never from the observed support alone: a support of 0 would claim certainty.
        """
        support = float(self.q) + float(self.gap) * np.clip(frequencies, 0.0, 1.0)
        return np.sqrt(support * (1.0 - support) / n) / float(self.gap)

    def frequency_of(self, support: Floats) -> Floats:
        """The frequency whose expected share of supports is `support`."""
        return (support - float(self.q)) / float(self.gap)
