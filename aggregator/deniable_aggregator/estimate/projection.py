"""Projections: raw estimates made presentable; point estimates, never the base of an interval."""

from __future__ import annotations

import numpy as np

from deniable_aggregator.estimate.channel import Floats

__all__ = ["onto_box", "onto_simplex"]


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
