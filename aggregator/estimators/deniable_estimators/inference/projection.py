"""Projections: raw estimates made presentable; point estimates, never the base of an interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Floats


def onto_box(frequencies: Floats) -> Floats:
    """Each frequency clipped to [0, 1]."""
    return np.clip(frequencies, 0.0, 1.0)


def onto_simplex(frequencies: Floats) -> Floats:
    """The nearest point, in Euclidean distance, that is ≥ 0 and sums to 1. O(d log d).

    Equal to Norm-Sub iterated to convergence. Source: Held, Wolfe and Crowder 1974; local-dp §14.
    """
    descending = np.sort(frequencies)[::-1]
    shifts = (np.cumsum(descending) - 1.0) / np.arange(1, len(descending) + 1)
    kept = int(np.count_nonzero(descending > shifts))
    shifted: Floats = frequencies - shifts[kept - 1]
    return np.maximum(shifted, 0.0, out=shifted)


def top_down(leaves: Floats, fan_out: int) -> Floats:
    """Leaves ≥ 0 that sum to 1: from the root on, children onto the simplex of their parent.

    Sums over the nodes of the tree move little, and so does the distribution function; a projection
    of all leaves at once moves it much. Source: local-dp §11.
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
    """`onto_simplex` for the children of each parent, which add up to its total."""
    padded = np.full(len(totals) * fan_out, -np.inf)
    padded[: len(children)] = children
    rows = padded.reshape(len(totals), fan_out)
    descending = -np.sort(-rows, axis=1)
    shifts = (np.cumsum(descending, axis=1) - totals[:, None]) / np.arange(1, fan_out + 1)
    kept = np.maximum(np.count_nonzero(descending > shifts, axis=1), 1)
    shift = np.take_along_axis(shifts, kept[:, None] - 1, axis=1)
    projected: Floats = np.maximum(rows - shift, 0.0).reshape(-1)[: len(children)]
    return projected
