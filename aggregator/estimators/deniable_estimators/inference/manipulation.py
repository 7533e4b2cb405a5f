"""How far fake reports can move a frequency.

A fake report supports a value or it does not, for every mechanism.
Source: Cao, Jia and Gong 2021; docs/mathematics/intervals.md, Made-up reports.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_estimators.inference.channel import Channel, Counts, Floats

UNREACHABLE = int(np.iinfo(np.int64).max)
_ROUNDINGS = 8 * float(np.finfo(np.float64).eps)  # more than the relative error of three operations


def influence(channel: Channel, n: int, *, epochs: int = 1) -> float:
    """Return the most that one fake device can move a frequency: T/((p − q) n).

    In T = `epochs` epochs it sends at most T of the n reports. It can do so even if honest devices
    answer once, as this cannot be checked. A report added to the n moves a frequency by less than
    1/((p − q)(n + 1)). Returns NaN at n = 0.
    """
    return float(min(epochs, n) / (channel.gap * n)) if n else math.nan


def worst_share(liars: float, sampling_fraction: Fraction) -> float:
    """Return b/(b + (1 − b)·t/m): the worst share of fake reports among those about one label.

    If a device chooses which t of m labels it reports, a share b = `liars` of all reports can be
    about one label, while only a share t/m = `sampling_fraction` of the honest ones is.
    """
    return liars / (liars + (1 - liars) * float(sampling_fraction)) if liars else 0.0


def limits_under_lies(
    channel: Channel, lower: Floats, upper: Floats, share: float
) -> tuple[Floats, Floats]:
    """Return the interval [lower, upper], widened for a share b < 1 of fake reports.

        [(lower − b(1 − q)/(p − q))/(1 − b), (upper + bq/(p − q))/(1 − b)] ∩ [0, 1]

    It then contains the frequency among honest people, for any fake reports. Raises ParameterError
    for a share outside [0, 1). Source: docs/mathematics/intervals.md, Made-up reports.
    """
    if not 0 <= share < 1:
        raise ParameterError(f"liars must be a share in [0, 1), got {share}")
    gap, q = float(channel.gap), float(channel.q)
    least = (lower - share * (1 - q) / gap) / (1 - share)
    most = (upper + share * q / gap) / (1 - share)
    return np.clip(least, 0.0, 1.0), np.clip(most, 0.0, 1.0)


def liars_to_zero(channel: Channel, lower: Floats, sampling_fraction: Fraction) -> Floats:
    """Return the least share of fake reports for which `limits_under_lies` reaches 0 from `lower`.

    It is lower(p − q)/(1 − q) of the reports about the label, converted back by `worst_share`.
    """
    share = np.maximum(lower, 0.0) * float(channel.gap / (1 - channel.q))
    all_of_them: Floats = (
        share * float(sampling_fraction) / (1.0 - share * float(1 - sampling_fraction))
    )
    return all_of_them


def reports_to_leave(counts: Counts, n: int | Counts, lower: Floats, upper: Floats) -> Counts:
    """Return the least number of added fake reports that push a raw estimate out of its interval.

    `lower` and `upper` bound the share of supports, without clipping. Either all k fakes support
    the value, (c + k)/(n + k) > upper, or none does, c/(n + k) < lower; the smaller k counts.
    Exact, as if the limits were rational numbers. n is one number or one for each count. The result
    is 0 if n is 0, and UNREACHABLE if no number of fakes is enough.
    """
    trials = np.broadcast_to(np.asarray(n), counts.shape)

    def exact_up(cell: int) -> Fraction:
        limit = Fraction(float(upper[cell]))
        return (limit * int(trials[cell]) - int(counts[cell])) / (1 - limit)

    def exact_down(cell: int) -> Fraction:
        return int(counts[cell]) / Fraction(float(lower[cell])) - int(trials[cell])

    up = _least_above(upper * trials, counts, 1.0 - upper, exact_up)
    down = _least_above(counts, lower * trials, lower, exact_down)
    return np.where(trials > 0, np.minimum(up, down), 0)


def _least_above(
    far: Floats | Counts, near: Floats | Counts, step: Floats, exact: Callable[[int], Fraction]
) -> Counts:
    """Return the least integer ≥ 1 above (far − near)/step; `exact` decides close cases."""
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
