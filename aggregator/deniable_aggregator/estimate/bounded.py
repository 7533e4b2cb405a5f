"""Intervals for the mean of numbers in [0, 1], whatever their distribution.

While a mean or its complement stands for fewer than 1,000 devices, the limits are those of Chernoff
and Hoeffding,

    n·kl(mean, limit) = ln(1/tail)        kl(a, b) = a·ln(a/b) + (1 − a)·ln((1 − a)/(1 − b))

which hold for every n; beyond, those of the normal law with a standard error that the caller knows
never to be too small. Where each device sent up to T of the n numbers, n/T of them that are alike
within a device have the widest law (exponential moments are convex in the number of reports).
Source: Hoeffding 1963, theorem 1.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from deniable_shared.errors import ParameterError

__all__ = ["MANY", "mean_limits"]

MANY = 1000
"""Devices on the rarer side of a mean from which on the normal law serves."""

_HALVINGS = 60


def mean_limits(mean: float, std_error: float, devices: float, tail: float) -> tuple[float, float]:
    """Limits (lower, upper), each missed with probability ≤ tail; `devices` = n/T.

    ParameterError unless 0 ≤ mean ≤ 1.
    """
    if not 0 <= mean <= 1:
        raise ParameterError(f"mean must lie in [0, 1], got {mean}")
    if devices * min(mean, 1 - mean) >= MANY:
        reach = -NormalDist().inv_cdf(tail) * std_error
        return mean - reach, mean + reach
    distance = -math.log(tail) / devices
    return 1 - _limit_above(1 - mean, distance), _limit_above(mean, distance)


def _limit_above(mean: float, distance: float) -> float:
    """The largest b ≥ mean with kl(mean, b) ≤ distance, rounded outwards."""
    low, high = mean, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _divergence(mean, middle) <= distance else (low, middle)
    return high


def _divergence(a: float, b: float) -> float:
    if b >= 1:
        return math.inf if a < 1 else 0.0
    told = a * math.log(a / b) if a > 0 else 0.0
    return told + ((1 - a) * math.log((1 - a) / (1 - b)) if a < 1 else 0.0)
