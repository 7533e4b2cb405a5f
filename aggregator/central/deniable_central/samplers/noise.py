"""Exact coins: Bernoulli(e^−x), the two-sided geometric, the discrete Gaussian, for rationals.

Every draw compares a uniform U in [0, 1) with a bound that may be transcendental. U's leading bits
are drawn at once. If they do not decide, the bound is enclosed more tightly between integers, and U
gets more bits. So each law is exact for ideal coins, and no result depends on a float: floats only
skip comparisons whose outcome they prove.

Coins come from the operating system unless a test provides others.

The tails of the two-sided geometric are certified numbers:

    Pr[N = k] = (1 − z)/(1 + z) · z^|k|        Pr[N ≥ k] = z^k/(1 + z) for k ≥ 0        z = e^−decay

Source: docs/mathematics/samplers.md, Two-sided geometric noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product

import numpy as np
import numpy.typing as npt

from deniable_central.pmf import Pmf
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import exp_bounds

Integers = npt.NDArray[np.int64]
Bracket = Callable[[int], tuple[int, int]]
"""Returns integers low ≤ 2^bits · bound ≤ high, given bits."""

WORD_BITS = 64
SMALLEST_DECAY = Fraction(1, 1 << 50)  # noise stays below 2^60 except for one draw in e^1024
LARGEST_DECAY = Fraction(1 << 50)
MOST_OUTCOMES = 1 << 16
_LARGEST_NOISE = 1 << 60
_LOG_ERROR = 2.0**-43  # error of −ln V − ln(1 + z): 8 ulp of at most 45, and the sum


class LazyUniform:
    """A uniform number in [0, 1): `size` leading bits are drawn, and more when needed."""

    __slots__ = ("_coins", "bits", "size")

    def __init__(self, coins: Coins, *, bits: int = 0, size: int = 0) -> None:
        self._coins, self.bits, self.size = coins, bits, size
        if not size:
            self.extend()

    def extend(self) -> None:
        """Draw one more word."""
        self.bits = self.bits << WORD_BITS | self._coins.bits(WORD_BITS)
        self.size += WORD_BITS

    def is_below(self, bracket: Bracket) -> bool:
        """Return whether the number is below the bound that the bracket encloses."""
        while True:
            low, high = bracket(self.size)
            if self.bits < low:
                return True
            if self.bits >= high:
                return False
            self.extend()


@lru_cache(maxsize=4096)
def decay_bracket(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Return integers low ≤ 2^bits · e^−exponent ≤ high, at most 3 apart; exponent ≥ 0."""
    if exponent == 0:
        return 1 << bits, 1 << bits
    if exponent >= bits:
        return 0, 1  # e^−bits < 2^−bits
    low, high = exp_bounds(exponent, bits=bits)
    return (high.denominator << bits) // high.numerator, -(
        -(low.denominator << bits) // low.numerator
    )


def bernoulli_exp(exponent: Fraction, coins: Coins) -> bool:
    """Return True with probability e^−exponent, for a rational exponent ≥ 0."""
    if exponent < 0:
        raise ParameterError(f"exponent must be at least 0, got {exponent}")
    return LazyUniform(coins).is_below(partial(decay_bracket, exponent))


def two_sided_geometric(decay: Fraction, size: int, coins: Coins | None = None) -> Integers:
    """Return int64[size]: independent N with Pr[N = k] = (1 − z)/(1 + z) · z^|k|, z = e^−decay.

    This is Laplace noise on integers: ε-DP at decay = ε/Δ1, variance 2z/(1 − z)². Each draw takes
    one word: a bit is the sign, and the rest V < ½ is below Pr[N ≥ k] = z^k/(1 + z) for exactly the
    k ≤ |N|. The work does not depend on data. Raises ParameterError unless decay is in [2^−50,
    2^50].
    """
    if not SMALLEST_DECAY <= decay <= LARGEST_DECAY:
        raise ParameterError(f"decay must lie in [2^-50, 2^50], got {float(decay):.3g}")
    coins = coins or Coins.system()
    words = np.frombuffer(coins.bytes(8 * size), dtype=">u8").astype(np.uint64)
    halves = words >> np.uint64(1)
    magnitudes, doubtful = _magnitudes(decay, halves)
    for place in doubtful.tolist():
        uniform = LazyUniform(coins, bits=int(halves[place]), size=WORD_BITS - 1)
        magnitudes[place] = _exact_magnitude(decay, uniform)
    return np.where(words & np.uint64(1), -magnitudes, magnitudes)


def _magnitudes(
    decay: Fraction, halves: npt.NDArray[np.uint64]
) -> tuple[Integers, npt.NDArray[np.intp]]:
    """Return |N| from the 63 bits without the sign, and the places that floats do not prove.

    V = (halves + something in [0, 1))/2^64; |N| counts the k ≥ 1 below y = −ln(V(1 + z))/decay.
    """
    rate = float(decay)
    middle = halves.astype(np.float64) + 0.5
    y = (WORD_BITS * math.log(2) - math.log1p(math.exp(-rate)) - np.log(middle)) / rate
    nearest = np.maximum(np.rint(y), 1)
    slack = (_LOG_ERROR + 1 / middle) / rate + np.abs(y) * 2.0**-50
    doubtful = (np.abs(y - nearest) <= slack) | (halves == 0)
    return np.maximum(np.floor(y), 0).astype(np.int64), np.flatnonzero(doubtful)


def _exact_magnitude(decay: Fraction, uniform: LazyUniform) -> int:
    """Return the number of k ≥ 1 with U < 2z^k/(1 + z), by doubling and bisection."""

    def reaches(k: int) -> bool:
        return uniform.is_below(partial(_tail_bracket, decay, k))

    above = 1
    while reaches(above):
        above *= 2
        if above > _LARGEST_NOISE:
            raise OverflowError("noise of 2^60 or more, which is one draw in e^1024")
    reached = above // 2
    while above - reached > 1:
        middle = (reached + above) // 2
        reached, above = (middle, above) if reaches(middle) else (reached, middle)
    return reached


def _tail_bracket(decay: Fraction, k: int, bits: int) -> tuple[int, int]:
    """Return integers around 2^bits · 2z^k/(1 + z)."""
    one = 1 << bits
    z_low, z_high = decay_bracket(decay, bits)
    low, high = decay_bracket(k * decay, bits)
    return (2 * low << bits) // (one + z_high), -(-(2 * high << bits) // (one + z_low))


def discrete_gaussian(variance: Fraction, size: int, coins: Coins | None = None) -> Integers:
    """Int64[size]: independent N with Pr[N = k] ∝ e^(−k²/(2·variance)); ρ = Δ2²/(2·variance).

    Canonne, Kamath, Steinke 2020: a two-sided geometric Y of decay 1/t, t = ⌊σ⌋ + 1, is kept with
    probability exp(−(|Y| − variance/t)²/(2·variance)), about every second one.
    """
    if variance <= 0:
        raise ParameterError(f"variance must be positive, got {variance}")
    coins = coins or Coins.system()
    t = math.isqrt(int(variance)) + 1
    kept: list[int] = []
    while len(kept) < size:
        for y in two_sided_geometric(Fraction(1, t), size - len(kept), coins).tolist():
            if bernoulli_exp((abs(y) - variance / t) ** 2 / (2 * variance), coins):
                kept.append(y)
    return np.array(kept, dtype=np.int64)


Bounds = tuple[Fraction, Fraction]

BITS = 192
_UP = 1 + 1e-12


def tail(decay: Fraction, k: int, bits: int = BITS) -> Bounds:
    """Return rational bounds of Pr[N ≥ k], about 2^−bits apart."""
    if k <= 0:
        low, high = tail(decay, 1 - k, bits)
        return 1 - high, 1 - low
    one = 1 << bits
    z_low, z_high = decay_bracket(decay, bits)
    low_power, high_power = decay_bracket(k * decay, bits)
    return Fraction(low_power, one + z_high), Fraction(high_power, one + z_low)


def probability(decay: Fraction, k: int, bits: int = BITS) -> Bounds:
    """Return rational bounds of Pr[N = k]."""
    one = 1 << bits
    z_low, z_high = decay_bracket(decay, bits)
    low, high = decay_bracket(abs(k) * decay, bits)
    least, most = Fraction(low, one), Fraction(high, one)
    return least * (one - z_high) / (one + z_high), most * (one - z_low) / (one + z_low)


def noisy_pmf(levels: Sequence[int], decay: Fraction, *, farthest: int) -> Pmf[tuple[int, ...]]:
    """Return the certified law of all levels with noise, within `farthest` of them, no more.

    Raises ParameterError beyond 65,536 outcomes.
    """
    if (2 * farthest + 1) ** len(levels) > MOST_OUTCOMES:
        raise ParameterError(f"farthest must allow at most {MOST_OUTCOMES:,} outcomes")
    outcomes, lower, upper = [], [], []
    for noise in product(range(-farthest, farthest + 1), repeat=len(levels)):
        low = high = Fraction(1)
        for k in noise:
            least, most = probability(decay, k)
            low, high = low * least, high * most
        outcomes.append(tuple(level + k for level, k in zip(levels, noise, strict=True)))
        lower.append(low)
        upper.append(high)
    return Pmf(tuple(outcomes), tuple(lower), tuple(upper))


def tail_quantile(decay: Fraction, beta: float) -> int:
    """Return the least t with Pr[|N| > t] = 2z^(t + 1)/(1 + z) ≤ beta, or one more."""
    if not 0 < beta < 1:
        raise ParameterError(f"beta must lie in (0, 1), got {beta}")
    rate = float(decay)
    farthest = (math.log(2 / beta) - math.log1p(math.exp(-rate))) / rate
    return max(math.ceil(farthest * _UP) - 1, 0)
