"""Sums over a family of hash functions that are linear in the digits of a code, exactly.

    supports_of_codes    c_x = Σ_a n[a, h_a(x)]              for all K = g^t codes
    cells_of_values      w[a, c] = Σ of w_x with h_a(x) = c  for all functions and cells

The functions whose last factor is at place k are h_a(x) = x_k + Σ_{j<k} r_j·x_j over the field of g
elements. Their part of the sum is computed place by place, in integers: for j = 0 … k − 1 the
digits x_j replace the factors r_j,

    A[… r_j …, c]  →  A[… x_j …, c] = Σ_{r_j} A[… r_j …, c + r_j·x_j]

This takes t·g additions for each of the K codes, without rounding. With a minus sign the same steps
go from values to cells.

Source: docs/mathematics/designs.md, Linear hashes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.channel import Counts, Floats
from deniable_shared.algebra.finite_fields import finite_field
from deniable_shared.algebra.recurrences import point_count

_Numbers = TypeVar("_Numbers", Counts, Floats)


def supports_of_codes(messages: _Numbers, g: int, t: int) -> _Numbers:
    """Return Σ_a messages[a·g + h_a(x)] for every code x: int64[K] of int64[M·g]."""
    total = np.zeros(1, dtype=messages.dtype)
    for place in range(t):
        first, here = g * point_count(g, place), g ** (place + 1)
        total = np.tile(total, g) + _exchanged(messages[first : first + here], g, place, 1)
    return total  # pyright: ignore[reportReturnType]  # numpy's result loses the type variable


def cells_of_values(values: _Numbers, g: int, t: int) -> _Numbers:
    """Return Σ of the values x with h_a(x) = c, for every a·g + c: int64[M·g] of int64[K]."""
    parts = []
    for place in range(t):
        ends = values.reshape(-1, g ** (place + 1)).sum(axis=0)  # by their last digits
        by_digit = ends.reshape(g, -1).T.reshape(-1)  # the digit at the place goes last
        parts.append(_exchanged(by_digit, g, place, -1).reshape(g, -1).T.reshape(-1))
    return np.concatenate(parts)  # pyright: ignore[reportReturnType]  # numpy's result loses the type variable


def _exchanged(numbers: _Numbers, g: int, places: int, sign: int) -> _Numbers:
    """Return Σ_r A[r, c ± r·x] for all x and c, of A[r, c] at r·g + c, at c·g^places + x."""
    sums, scaled = _tables(g)
    block = numbers.reshape(-1, g)
    for place in range(places):
        parts = block.reshape(-1, g, g**place, g)  # digits before this place, it, those done, cell
        swapped = np.zeros_like(parts)
        for factor in range(g):
            steps = scaled[factor] if sign > 0 else _negated(g)[scaled[factor]]
            moved = parts[:, factor][..., sums[:, steps].T]
            swapped += np.moveaxis(moved, 2, 1)
        block = swapped.reshape(-1, g)
    return np.ascontiguousarray(block.T).reshape(-1)  # pyright: ignore[reportReturnType]  # numpy's result loses the type variable


@lru_cache(maxsize=8)
def _tables(g: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the sums and products of any two elements."""
    field, elements = finite_field(g), np.arange(g)
    if field.sums is None or field.products is None:
        return (elements[:, None] + elements) % g, np.outer(elements, elements) % g
    return np.array(field.sums), np.array(field.products)


@lru_cache(maxsize=8)
def _negated(g: int) -> npt.NDArray[np.int64]:
    """Return the negative of each element."""
    negatives: npt.NDArray[np.int64] = (_tables(g)[0] == 0).argmax(axis=1)
    return negatives


def hashed(functions: Counts, values: Counts, g: int, t: int) -> Counts:
    """Return h_a(x) of many pairs."""
    sums, scaled = _tables(g)
    starts = np.array([point_count(g, place) for place in range(t)])
    last = np.searchsorted(starts, functions, side="right") - 1
    rest, digits = functions - starts[last], values
    cells = np.zeros_like(values)
    for place in range(t):
        factors = np.where(place < last, rest % g, place == last)
        cells = sums[cells, scaled[factors, digits % g]]
        rest, digits = rest // g, digits // g
    return cells
