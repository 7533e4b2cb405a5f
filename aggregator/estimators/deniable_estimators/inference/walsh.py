"""The Walsh–Hadamard transform, with one round for each bit of an index.

Source: docs/mathematics/hadamard.md, The transform.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from deniable_estimators.inference.channel import Counts, Floats

Numbers = TypeVar("Numbers", Counts, Floats)


def walsh(values: Numbers) -> Numbers:
    """Return Σ_j values[…, j]·(−1)^(parity of j AND v) for every v; exact if sums of |values| fit.

    Each round adds and subtracts the halves, which handles the first bit of j and puts that of v
    last. After log2 K rounds all bits are in their places again.
    """
    size = values.shape[-1]
    half = size // 2
    for _ in range(size.bit_length() - 1):
        mixed = np.empty_like(values)
        np.add(values[..., :half], values[..., half:], out=mixed[..., 0::2])
        np.subtract(values[..., :half], values[..., half:], out=mixed[..., 1::2])
        values = mixed
    return values
