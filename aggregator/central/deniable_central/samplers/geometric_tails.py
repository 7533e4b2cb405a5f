"""The two-sided geometric in certified numbers: its tails, and how far a draw may lie from 0.

Pr[N = k] = (1 − z)/(1 + z) · z^|k|        Pr[N ≥ k] = z^k/(1 + z) for k ≥ 0        z = e^−decay
"""

from __future__ import annotations

import math
from fractions import Fraction

from deniable_central.samplers.noise import decay_bracket
from deniable_shared.errors import ParameterError

Bounds = tuple[Fraction, Fraction]

BITS = 192
_UP = 1 + 1e-12


def tail(decay: Fraction, k: int, bits: int = BITS) -> Bounds:
    """Rationals around Pr[N ≥ k], about 2^−bits apart."""
    if k <= 0:
        low, high = tail(decay, 1 - k, bits)
        return 1 - high, 1 - low
    one = 1 << bits
    z_low, z_high = decay_bracket(decay, bits)
    low_power, high_power = decay_bracket(k * decay, bits)
    return Fraction(low_power, one + z_high), Fraction(high_power, one + z_low)


def probability(decay: Fraction, k: int, bits: int = BITS) -> Bounds:
    """Rationals around Pr[N = k]."""
    one = 1 << bits
    z_low, z_high = decay_bracket(decay, bits)
    low, high = decay_bracket(abs(k) * decay, bits)
    least, most = Fraction(low, one), Fraction(high, one)
    return least * (one - z_high) / (one + z_high), most * (one - z_low) / (one + z_low)


def tail_quantile(decay: Fraction, beta: float) -> int:
    """The least t with Pr[|N| > t] = 2z^(t + 1)/(1 + z) ≤ beta, or one more."""
    if not 0 < beta < 1:
        raise ParameterError(f"beta must lie in (0, 1), got {beta}")
    rate = float(decay)
    farthest = (math.log(2 / beta) - math.log1p(math.exp(-rate))) / rate
    return max(math.ceil(farthest * _UP) - 1, 0)
