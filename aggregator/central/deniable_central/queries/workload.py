"""Workloads: linear queries over a finite domain, as integer matrices.

    f_i(v) = matrix[i, v]/scale in [0, 1] for each value v      f_i(D) = mean of f_i over D's rows

A predicate is a row of zeros and ones at scale 1. A replaced row moves the count n·f_i(D) by at
most the spread of f_i, max_v f_i(v) − min_v f_i(v) ≤ 1; an added or removed row by at most max_v
f_i(v).

`halfspaces` has every way to separate the corners of the cube {0, 1}^k by a plane, each once: 1[w·x
≥ θ] for real w and θ. Weights of at most 3 in absolute value give them all for k ≤ 4: 4, 14, 104
and 1,882 of them. Those of the notes, w·(x_1 … x_{k−1}) ≥ x_k, are among these. Value v of the
domain is the corner whose bits, the first most significant, are those of v.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from deniable_central.errors import CountsError, EnumerationError

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_LARGEST_SCALE = 1 << 20


def checked_integers(values: npt.ArrayLike, *, argument: str, dimensions: int) -> Integers:
    """Return an int64 array of this many dimensions.

    Raises CountsError, which depends on type and shape, never on a value.
    """
    array = np.asarray(values)
    if array.ndim != dimensions or 0 in array.shape:
        raise CountsError(
            f"{argument} must be a non-empty array of {dimensions} dimension(s), "
            f"got shape {array.shape}"
        )
    whole = array.dtype == np.bool_ or np.issubdtype(array.dtype, np.integer)
    if not whole or array.dtype == np.uint64:
        raise CountsError(
            f"{argument} must be integers of at most 64 bits with a sign, got {array.dtype}: "
            "counts are raw, and a query of fractions is integers and a scale"
        )
    return array.astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Workload:
    """Queries f_i = matrix[i]/scale, one a row: int64[queries, domain], public and read-only."""

    matrix: Integers
    scale: int = 1

    def __post_init__(self) -> None:
        matrix = checked_integers(self.matrix, argument="matrix", dimensions=2)
        if not 1 <= self.scale <= _LARGEST_SCALE:
            raise CountsError(f"scale must lie in [1, {_LARGEST_SCALE:,}], got {self.scale}")
        if matrix.min() < 0 or matrix.max() > self.scale:
            raise CountsError(
                f"queries must lie in [0, 1]: entries from 0 to scale = {self.scale}, "
                f"got {matrix.min()} to {matrix.max()}"
            )
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)

    @property
    def queries(self) -> int:
        """The number of queries."""
        return len(self.matrix)

    @property
    def domain(self) -> int:
        """The number of values that a row can have."""
        return int(self.matrix.shape[1])

    def values(self, weights: npt.ArrayLike) -> Floats:
        """Return float64[queries]: f_i on weights of the domain, with sum 1 for shares."""
        shares: Floats = self.matrix @ np.asarray(weights, dtype=np.float64) / self.scale
        return shares


def points(domain: int) -> Workload:
    """Return the queries for the share of each single value: a histogram."""
    return Workload(np.eye(domain, dtype=np.int64))


def prefixes(domain: int) -> Workload:
    """Return those for the share of values up to each one but the last: a distribution function."""
    return Workload(np.tri(domain - 1, domain, dtype=np.int64))


def intervals(domain: int) -> Workload:
    """Return those for the share of every interval of values, except the whole domain."""
    place = np.arange(domain)
    pairs = [(a, b) for a in range(domain) for b in range(a, domain) if b - a < domain - 1]
    return Workload(np.array([(a <= place) & (place <= b) for a, b in pairs], dtype=np.int64))


_LARGEST_WEIGHT = 3
_MOST_BITS = 4


def halfspaces(bits: int) -> Workload:
    """Return all linear threshold functions of `bits` bits, including the two constant ones."""
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
