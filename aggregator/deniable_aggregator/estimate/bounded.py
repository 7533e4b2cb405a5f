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

import numpy as np

from deniable_aggregator.estimate.channel import Floats
from deniable_shared.errors import ParameterError

__all__ = ["MANY", "limits_of_means", "mean_limits"]

MANY = 1000
"""Devices on the rarer side of a mean from which on the normal law serves."""

_HALVINGS = 60


def mean_limits(mean: float, std_error: float, devices: float, tail: float) -> tuple[float, float]:
    """Limits (lower, upper), each missed with probability ≤ tail; `devices` = n/T.

    ParameterError unless 0 ≤ mean ≤ 1.
    """
    lower, upper = limits_of_means(np.array([mean]), np.array([std_error]), devices, tail)
    return float(lower[0]), float(upper[0])


def limits_of_means(
    means: Floats, std_errors: Floats, devices: float, tail: float
) -> tuple[Floats, Floats]:
    """The same for many means at once, each by itself."""
    if not ((means >= 0) & (means <= 1)).all():
        raise ParameterError(f"mean must lie in [0, 1], got {means.min()} to {means.max()}")
    reach = -NormalDist().inv_cdf(tail) * std_errors
    lower, upper = means - reach, means + reach
    rare = devices * np.minimum(means, 1 - means) < MANY
    distance = -math.log(tail) / devices
    lower[rare] = 1 - _limit_above(1 - means[rare], distance)
    upper[rare] = _limit_above(means[rare], distance)
    return lower, upper


def _limit_above(means: Floats, distance: float) -> Floats:
    """The largest b ≥ mean with kl(mean, b) ≤ distance, rounded outwards."""
    low, high = means.copy(), np.ones(len(means))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        within = _divergence(means, middle) <= distance
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return high


def _divergence(a: Floats, b: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        told = np.where(a > 0, a * np.log(a / b), 0.0)
        rest = np.where(a < 1, (1 - a) * np.log((1 - a) / (1 - b)), 0.0)
    divergence: Floats = told + rest
    return divergence
