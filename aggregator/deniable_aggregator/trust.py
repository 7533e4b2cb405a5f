"""How far reports that somebody made up can move a frequency.

A fake report supports a value or it does not, whatever mechanism it claims to come from.
Source: Cao, Jia and Gong 2021; local-dp §16.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from deniable_aggregator.channel import Channel, Counts, Floats

__all__ = ["UNREACHABLE", "influence", "reports_to_leave"]

UNREACHABLE = int(np.iinfo(np.int64).max)
_ROUNDINGS = 8 * float(np.finfo(np.float64).eps)  # above what three operations can lose, relatively


def influence(channel: Channel, n: int) -> float:
    """The most one device can move a frequency: 1/((p − q) n), by lying in place of its answer.

    A report added to the n moves it by less than 1/((p − q)(n + 1)). NaN at n = 0.
    """
    return float(1 / (channel.gap * n)) if n else math.nan


def reports_to_leave(counts: Counts, n: int, lower: Floats, upper: Floats) -> Counts:
    """The least number of fake reports that, added to the n, push a raw estimate off its interval.

    `lower` and `upper` bound the share of supports and are not clipped to what honest reports can
    give. All k fakes support the value, (c + k)/(n + k) > upper, or none does, c/(n + k) < lower:
    whichever needs fewer. Exact, as if the limits were rational numbers. 0 at n = 0, where there
    is no estimate to push; UNREACHABLE where no number of fakes is enough.
    """
    if not n:
        return np.zeros(len(counts), dtype=np.int64)

    def exact_up(cell: int) -> Fraction:
        limit = Fraction(float(upper[cell]))
        return (limit * n - int(counts[cell])) / (1 - limit)

    def exact_down(cell: int) -> Fraction:
        return int(counts[cell]) / Fraction(float(lower[cell])) - n

    up = _least_above(upper * n, counts, 1.0 - upper, exact_up)
    down = _least_above(counts, lower * n, lower, exact_down)
    return np.minimum(up, down)


def _least_above(
    far: Floats | Counts, near: Floats | Counts, step: Floats, exact: Callable[[int], Fraction]
) -> Counts:
    """The least integer ≥ 1 above (far − near)/step; where rounding could decide, `exact` does."""
    least = np.full(len(step), UNREACHABLE, dtype=np.int64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient = (far - near) / step
        slack = _ROUNDINGS * (far + near) / step
        reachable = quotient < 2.0**62
        close = reachable & (np.abs(quotient - np.rint(quotient)) <= slack)
    least[reachable] = np.floor(quotient[reachable]).astype(np.int64) + 1
    for cell in np.flatnonzero(close):
        least[cell] = math.floor(exact(int(cell))) + 1
    return np.maximum(least, 1)
