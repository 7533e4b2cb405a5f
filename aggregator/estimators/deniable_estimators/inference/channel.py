"""The channel of a pure protocol: turns supports into raw frequencies and standard errors.

A message supports value v with probability p if v is the sender's value and q if it is not, so

    f̂_v = (c_v/n − q)/(p − q)         Var(f̂_v) = s(1 − s)/(n (p − q)²),   s = f_v p + (1 − f_v) q

for reporters drawn independently from a population in which v has frequency f_v. For the reporters
themselves the variance is smaller by f_v(1 − f_v)/n.
Source: Wang et al. 2017; docs/mathematics/supports-and-estimates.md, The channel of supports.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Spread = Callable[[Floats], Floats]


def independent(support: Floats) -> Floats:
    """Return n times the variance of the share of supports among n independent reports."""
    return support * (1.0 - support)


@dataclass(frozen=True, slots=True)
class Channel:
    """The support probabilities of the sampler, exactly: 0 ≤ q < p ≤ 1.

    Raises ParameterError for any other p and q.
    """

    p: Fraction
    q: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.q < self.p <= 1:
            raise ParameterError(f"p and q must satisfy 0 ≤ q < p ≤ 1, got {self.p} and {self.q}")

    @property
    def gap(self) -> Fraction:
        """p − q: what one true answer adds to its expected support."""
        return self.p - self.q

    def frequencies(self, counts: Counts, n: int | Counts) -> Floats:
        """Return raw unbiased frequencies of `counts` among n reports; they may be negative.

        n is one number for counts of any shape, or one for each count of a vector. Returns NaN
        where n is 0. Correct to a few units in the last place: the expected noise n·q is subtracted
        as an integer and an exact rest, so no digits cancel.
        """
        if not counts.size:
            return np.zeros(counts.shape)
        whole, rest, scale = self._noise(n) if isinstance(n, int) else self._noises(n)
        signal: Floats = (counts - whole) - np.float64(rest)
        with np.errstate(invalid="ignore"):
            return signal / scale

    def _noise(self, n: int) -> tuple[int, float, float]:
        """Return ⌊n·q⌋, the rest of n·q, and n(p − q)."""
        noise = n * self.q
        whole = math.floor(noise)
        return whole, float(noise - whole), float(n * self.gap)

    def _noises(self, trials: Counts) -> tuple[Counts, Floats, Floats]:
        numbers, place = np.unique(trials, return_inverse=True)
        whole, rest, scale = zip(*(self._noise(n) for n in numbers.tolist()), strict=True)
        place = place.reshape(trials.shape)
        return np.array(whole)[place], np.array(rest)[place], np.array(scale)[place]

    def std_errors(
        self, frequencies: Floats, n: int | Counts, spread: Spread = independent
    ) -> Floats:
        """Return the standard deviation of f̂ for the population, by the formula at clip(f̂, 0, 1).

        The observed support alone would not do: a support of 0 would claim certainty. `spread`
        returns n·Var of the share of supports. Returns NaN where n is 0.
        """
        support = float(self.q) + float(self.gap) * np.clip(frequencies, 0.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            errors: Floats = np.sqrt(spread(support) / n) / float(self.gap)
        return errors

    def frequency_of(self, support: Floats) -> Floats:
        """Return the frequency whose expected share of supports is `support`."""
        return (support - float(self.q)) / float(self.gap)
