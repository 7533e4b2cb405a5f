"""Reconstruction: the rows that explain the counts best, by least squares over the unit box.

    x̂ = argmin over x in [0, 1]^n of ‖Sx − a‖²        the guess for row i is 1 if x̂_i ≥ ½

Somewhat more than n/2 random subsets leave one solution in the box, so exact counts give every row;
noise of o(√n) on O(n) of them still gives nearly all (Dinur, Nissim 2003, whose linear program this
replaces; Dwork, McSherry, Talwar 2007). Solved by accelerated projected gradients (Beck, Teboulle
2009) that restart where they would turn back (O'Donoghue, Candès 2015). With matrices this small,
the threads of a linear algebra library would mostly wait for each other.

Source: docs/mathematics/reconstruction.md, From counts to rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_central.errors import SubsetsError

if TYPE_CHECKING:
    from deniable_central.reconstruction.subsets import Integers, Subsets

Floats = npt.NDArray[np.float64]

_MOST_STEPS = 5_000
_STILL = 1e-9


def reconstruct(queries: Subsets, answers: npt.ArrayLike) -> Integers:
    """Return a bit for every row, int64[rows], from exact or noisy answers; uses no coins.

    Raises SubsetsError unless there is one number for each query.
    """
    floats = np.asarray(answers, dtype=np.float64)
    if floats.shape != (queries.queries,):
        raise SubsetsError(
            f"answers must be one number for each of {queries.queries} queries, "
            f"got shape {floats.shape}"
        )
    bits: Integers = (least_squares(queries, floats) >= 0.5).astype(np.int64)
    return bits


def least_squares(queries: Subsets, answers: Floats) -> Floats:
    """Return x̂, starting from the middle of the box; if several are best, one of them."""
    squares = (queries.matrix.T @ queries.matrix).astype(np.float64)
    target = queries.matrix.T @ answers
    steepest = max(1.0, float(squares.sum(axis=0).max()))  # at least the largest eigenvalue
    here = ahead = np.full(queries.rows, 0.5)
    momentum = 1.0
    for _ in range(_MOST_STEPS):
        there = np.clip(ahead - (squares @ ahead - target) / steepest, 0, 1)
        step = there - here
        moved = float(np.abs(there - ahead).max())
        if (ahead - there) @ step > 0:
            momentum = 1.0
        carried, momentum = momentum - 1, (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        here, ahead = there, there + carried / momentum * step
        if moved < _STILL:
            break
    return here
