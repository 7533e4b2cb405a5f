"""The Walsh–Hadamard transform, in as many rounds as an index has bits."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from deniable_estimators.inference.channel import Counts, Floats

Numbers = TypeVar("Numbers", Counts, Floats)


def walsh(values: Numbers) -> Numbers:
    """Σ_j values[…, j]·(−1)^(parity of j AND v) for every v; exact while sums of |values| fit.

    Each round adds and subtracts the halves, which deals with the first bit of j and puts that of v
    last; after log2 K rounds all bits are back in their places.
    """
    size = values.shape[-1]
    half = size // 2
    for _ in range(size.bit_length() - 1):
        mixed = np.empty_like(values)
        np.add(values[..., :half], values[..., half:], out=mixed[..., 0::2])
        np.subtract(values[..., :half], values[..., half:], out=mixed[..., 1::2])
        values = mixed
    return values
