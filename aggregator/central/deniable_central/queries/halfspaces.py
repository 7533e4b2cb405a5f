"""Halfspaces over {0, 1}^k: every way to cut the corners of a cube by a plane, each once.

1[w·x ≥ θ] for real w and θ. Weights of at most 3 in absolute value give them all for k ≤ 4:
4, 14, 104 and 1,882 of them. Those of the notes, w·(x_1 … x_{k−1}) ≥ x_k, are among these.
Value v of the domain is the corner whose bits, the first most significant, spell v.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from deniable_central.errors import EnumerationError
from deniable_central.queries.workload import Workload

_LARGEST_WEIGHT = 3
_MOST_BITS = 4


def halfspaces(bits: int) -> Workload:
    """All linear threshold functions of `bits` bits, the two constant ones among them."""
    if not 1 <= bits <= _MOST_BITS:
        raise EnumerationError(
            f"bits must lie in [1, {_MOST_BITS}], got {bits}: beyond, pass the halfspaces you need "
            "as a Workload, and size the database by vc_sampling_size"
        )
    corners = np.array(list(product((0, 1), repeat=bits)))
    levels = range(-_LARGEST_WEIGHT, _LARGEST_WEIGHT + 1)
    sides = corners @ np.array(list(product(levels, repeat=bits))).T
    reach = bits * _LARGEST_WEIGHT
    cuts = [threshold <= sides.T for threshold in range(-reach, reach + 2)]
    return Workload(np.unique(np.concatenate(cuts), axis=0).astype(np.int64))
