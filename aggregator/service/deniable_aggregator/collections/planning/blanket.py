"""The privacy that shuffling adds to a mechanism of two levels: the privacy blanket, numerically.

A message supports a value for a share w/K of all messages, and two values for a share λ/K; it is E0
= e^ε0 as likely under a value that it supports. With γ = K/(wE0 + K − w), a report has no
information on its sender with probability γ, and among n reports with unknown senders

    δ(ε) ≤ E[(L_1 + … + L_M)₊]/(γn)        M binomial of n trials of chance γ

    L/γ = E0(1 − e^ε) with λ/K, E0 − e^ε and 1 − E0e^ε with (w − λ)/K each, else 1 − e^ε

grr/1 has w = 1, λ = 0; sets of w of K codes have λ = w(w − 1)/(K − 1); a unary encoding is wrapped
in a blanket of bits that are 1 with q each: shares q and q². It needs all n of a batch to be honest
and anonymous, without coins that the server has dealt; neighbours replace one report.

The n-fold sum is a power of a Fourier transform on a grid. An atom between two places is split so
that its mean stays: by Jensen that only raises the bound. The part outside the window is bounded by
Bernstein and, with the error of the floats, added: no result is below the bound itself.
Sources: Balle, Bell, Gascón, Nissim 2019; Su, Cheng, Wang 2025; docs/mathematics/planning.md, The
privacy blanket.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_shared.mechanisms.protocols import Mechanism, Memoizable

Floats = npt.NDArray[np.float64]

MOST_REPORTS = 10**7
"""A larger batch is treated as this many: more reports never hide less."""

_LEAST_DELTA = 1e-10
_EXPONENT = 60.0  # the cut-off part has probability at most 2e^−60
_ROUNDINGS = 4e-12
_COARSE, _FINEST = 12, 18  # powers of 2: places of the grid
_WITHIN = 1e-4


@dataclass(frozen=True, slots=True)
class Blanket:
    """ε0 of one report, w/K = `share`, λ/K = `both`. Raises ParameterError if none exists."""

    local: float
    share: float
    both: float

    def __post_init__(self) -> None:
        if not 0 < self.local <= 20:
            raise ParameterError(f"local must be in (0, 20], got {self.local}")
        if not 0 < self.share < 1 or not 0 <= self.both <= self.share:
            raise ParameterError(
                f"share must be in (0, 1) and both in [0, share], got {self.share} and {self.both}"
            )
        if 2 * self.share - self.both > 1 + 1e-12:
            raise ParameterError(f"both must be at least 2·share − 1, got {self.both}")

    @classmethod
    def of(cls, mechanism: Mechanism) -> Blanket | None:
        """The blanket of a mechanism for labels, from its p and q; None for bits and means."""
        if "choice" not in mechanism.domain_types:
            return None
        form = (
            mechanism.first
            if isinstance(mechanism, MemoizedChain)
            else cast("Memoizable", mechanism)
        )
        local = float(mechanism.epsilon)
        if form.coordinates > 1:
            q = float(mechanism.q)
            return cls(local, q, q * q)
        share = form.support_size / form.alphabet_size
        excess = math.expm1(local)
        both = (float(mechanism.q) * (1 + share * excess) - share) / excess
        return cls(local, share, min(max(both, 0.0, 2 * share - 1), share))

    @property
    def mass(self) -> float:
        """γ: the probability that a report has no information on its sender."""
        return 1 / (1 + self.share * math.expm1(self.local))

    def delta(self, epsilon: float, reports: int, *, places: int | None = None) -> float:
        """δ(ε) of the reports without their senders; never below the true bound.

        `places`: the size of the grid; by default large enough for a small grid error.
        """
        if not epsilon >= 0:
            raise ParameterError(f"epsilon must be at least 0, got {epsilon}")
        if epsilon >= self.local:
            return 0.0
        n = _checked(reports)
        sum_ = _Sum.of(*self._atoms(epsilon), n, places or _fine(n))
        return min(1.0, sum_.excess() / (self.mass * n))

    def epsilon(self, reports: int, delta: float) -> float:
        """The least ε with δ(ε) ≤ δ, to a relative 10^−4, rounded up; never above ε0.

        A coarse grid, which is also a bound, gives the range to search.
        """
        if not _LEAST_DELTA <= delta < 1:
            raise ParameterError(f"delta must be in [1e-10, 1), got {delta}")
        at_zero = self.delta(0.0, reports)
        if at_zero <= delta:
            return 0.0
        coarse = _Search(delta, 0.0, self.local, at_zero, 0.0)
        coarse.narrow(lambda epsilon: self.delta(epsilon, reports, places=1 << _COARSE))
        high = min(coarse.high, self.local * (1 - _WITHIN))  # at ε0 δ jumps to 0
        at_high = self.delta(high, reports)
        if at_high > delta:
            return coarse.high
        fine = _Search(delta, 0.0, high, at_zero, at_high)
        fine.narrow(lambda epsilon: self.delta(epsilon, reports))
        return fine.high

    def _atoms(self, epsilon: float) -> tuple[Floats, Floats]:
        """Values of one term and their probabilities; 0 is a report outside the blanket."""
        likely, allowed, mass = math.exp(self.local), math.exp(epsilon), self.mass
        one = self.share - self.both
        values = [likely * (1 - allowed), likely - allowed, 1 - likely * allowed, 1 - allowed, 0.0]
        chances = [self.both, one, one, 1 - self.both - 2 * one]
        return (
            mass * np.array(values),
            np.array([*(mass * np.maximum(chances, 0.0)), 1 - mass]),
        )


@dataclass(slots=True)
class _Search:
    """Two ε, of which `low` has more than δ and `high` at most δ."""

    delta: float
    low: float
    high: float
    at_low: float
    at_high: float

    def narrow(self, delta_of: Callable[[float], float]) -> None:
        """Until they are close: by secants of ln δ, and each third step by halves.

        ln δ is concave, so secants only raise `low`; the least step past it lowers `high`.
        """
        for step in itertools.count(1):
            least = _WITHIN * self.high / 2
            if self.high - self.low <= 2 * least:
                return
            part = 0.5
            if self.at_high > 0 and step % 3:
                part = math.log(self.at_low / self.delta) / math.log(self.at_low / self.at_high)
            middle = self.low + part * (self.high - self.low)
            middle = min(max(middle, self.low + least), self.high - least)
            at_middle = delta_of(middle)
            if at_middle <= self.delta:
                self.high, self.at_high = middle, at_middle
            else:
                self.low, self.at_low = middle, at_middle


@dataclass(frozen=True, slots=True, eq=False)
class _Sum:
    """The sum of n independent terms: index·`step` + `mean`, with probabilities."""

    step: float
    shift: float
    chances: Floats
    slack: float

    @classmethod
    def of(cls, values: Floats, chances: Floats, n: int, size: int) -> _Sum:
        mean = float(values @ chances)
        furthest = float(np.abs(values - mean).max())
        spread = n * float((values - mean) ** 2 @ chances)
        reach = _reach(spread * 1.1, furthest, n)
        step = 2 * reach / (size - 8)
        places, split = _on_grid(values / step, chances)
        centre = float(places @ split)
        whole = round(n * centre)
        turns = np.asarray(np.arange(size // 2 + 1) * (-2 * np.pi / size), dtype=np.float64)
        once = _transform(turns, places - centre, split)
        power = np.exp(n * once + 1j * turns * (n * centre - whole))
        law = np.fft.irfft(power, size)
        return cls(step, whole * step, law, _ROUNDINGS * reach)

    def excess(self) -> float:
        """The mean of the positive part of the sum."""
        size = len(self.chances)
        offsets = np.arange(size)
        offsets[size // 2 :] -= size
        above = np.maximum(self.shift + self.step * offsets, 0.0)
        return float(np.maximum(self.chances, 0.0) @ above) + self.slack


def _reach(spread: float, furthest: float, n: int) -> float:
    """The distance from its mean that the sum exceeds with probability at most 2e^−60."""
    third = furthest * _EXPONENT / 3
    return min(third + math.sqrt(third**2 + 2 * spread * _EXPONENT), 1.01 * n * furthest)


def _on_grid(places: Floats, chances: Floats) -> tuple[Floats, Floats]:
    """Each atom split onto the two nearest grid points, with the same mean."""
    below = np.floor(places)
    rest = places - below
    return (
        np.concatenate([below, below + 1]),
        np.concatenate([chances * (1 - rest), chances * rest]),
    )


def _transform(turns: Floats, places: Floats, chances: Floats) -> npt.NDArray[np.complex128]:
    """ln of the characteristic function, exact near 0, where its n-th power is not yet 0."""
    angles = np.outer(turns, places)
    real = -2 * np.sin(angles / 2) ** 2 @ chances
    imaginary = np.sin(angles) @ chances
    return 0.5 * np.log1p(2 * real + real**2 + imaginary**2) + 1j * np.arctan2(imaginary, 1 + real)


def _fine(n: int) -> int:
    """A grid size for which splitting the atoms adds little to the variance of n terms."""
    return 1 << min(_FINEST, max(_COARSE, math.ceil(math.log2(40_000 * n) / 2)))


def _checked(reports: int) -> int:
    if isinstance(reports, bool) or reports < 1:
        raise ParameterError(f"reports must be at least 1, got {reports}")
    return min(reports, MOST_REPORTS)
