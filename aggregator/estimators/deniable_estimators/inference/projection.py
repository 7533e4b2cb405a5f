"""Projections make raw estimates presentable, and widen their intervals accordingly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_estimators.inference.channel import Floats


def onto_box(frequencies: Floats) -> Floats:
    """Return each frequency clipped to [0, 1]."""
    return np.clip(frequencies, 0.0, 1.0)


def limits_around(
    projected: Sequence[float] | Floats, lower: Floats, upper: Floats
) -> tuple[Floats, Floats]:
    """The raw interval of each label, stretched to its projected frequency.

    Both are about the same share of the population. So the stretched interval, a superset, covers
    it at least as often, for every n and every projection. All arrays: float64[labels]; where a
    projected frequency is NaN the raw interval stays. Why it cannot be much narrower: decision
    record 0045.
    """
    return np.fmin(lower, projected), np.fmax(upper, projected)


def onto_simplex(frequencies: Floats) -> Floats:
    """Return the nearest point, in Euclidean distance, that is ≥ 0 and sums to 1. O(d log d).

    Equal to Norm-Sub iterated to convergence.
    Source: Held, Wolfe and Crowder 1974; docs/mathematics/numbers.md, Projections.
    """
    descending = np.sort(frequencies)[::-1]
    shifts = (np.cumsum(descending) - 1.0) / np.arange(1, len(descending) + 1)
    kept = int(np.count_nonzero(descending > shifts))
    shifted: Floats = frequencies - shifts[kept - 1]
    return np.maximum(shifted, 0.0, out=shifted)


def top_down(leaves: Floats, fan_out: int) -> Floats:
    """Return leaves ≥ 0 that sum to 1: from the root, children projected to their parent's simplex.

    Sums over the nodes of the tree move little, and so does the distribution function. Projecting
    all leaves at once would move it much. Source: docs/mathematics/numbers.md, Projections.
    """
    levels = [leaves]
    while len(levels[-1]) > 1:
        nodes = levels[-1]
        levels.append(np.add.reduceat(nodes, np.arange(0, len(nodes), fan_out)))
    shares = np.ones(1)
    for nodes in reversed(levels[:-1]):
        shares = _onto_simplices(nodes, shares, fan_out)
    return shares


def _onto_simplices(children: Floats, totals: Floats, fan_out: int) -> Floats:
    """Return `onto_simplex` for the children of each parent, which add up to its total."""
    padded = np.full(len(totals) * fan_out, -np.inf)
    padded[: len(children)] = children
    rows = padded.reshape(len(totals), fan_out)
    descending = -np.sort(-rows, axis=1)
    shifts = (np.cumsum(descending, axis=1) - totals[:, None]) / np.arange(1, fan_out + 1)
    kept = np.maximum(np.count_nonzero(descending > shifts, axis=1), 1)
    shift = np.take_along_axis(shifts, kept[:, None] - 1, axis=1)
    projected: Floats = np.maximum(rows - shift, 0.0).reshape(-1)[: len(children)]
    return projected
