"""Sums of neighbours on a circle, by prefix sums: the sets of `affine/1`, one multiplier each."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from deniable_estimators.inference.channel import Counts, Floats

Numbers = TypeVar("Numbers", Counts, Floats)


def interval_sums(rows: Numbers, width: int) -> Numbers:
    """Σ of `width` neighbours from each place on: (rows, K) of (rows, K), for width in [1, K]."""
    sums = np.zeros((len(rows), rows.shape[1] + width), dtype=rows.dtype)
    np.cumsum(np.concatenate([rows, rows[:, : width - 1]], axis=1), axis=1, out=sums[:, 1:])
    arcs: Numbers = sums[:, width:] - sums[:, :-width]
    return arcs
