"""Proposals: an answer, and how many rows must change before the answer changes.

    rank r of n rows    m = x_(r), D = min(r − #{x < m}, n − r + 1 − #{x > m})       (lower) median:
                        r = ⌈n/2⌉. For any replaced rows, D is 1-Lipschitz. It is exact if the
                        domain extends on both sides of m, else possibly too small, which is safe.
    argmax of counts    D = ⌈(first − second)/S⌉, S how far one row moves two counts apart:
                        replace 2 (mode), add/remove 1, a row in c blocks 2c; first of equals

A distance is a function of the data and is never released.

Source: docs/mathematics/stability.md, A stable quantile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import index
from typing import Generic, SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt

from deniable_central.errors import RowsError, SensitivityError
from deniable_central.guarantee import Adjacency
from deniable_shared.errors import ParameterError

Answer = TypeVar("Answer")
Integers = npt.NDArray[np.int64]
Rows = npt.NDArray[np.integer] | Sequence[int]


@dataclass(frozen=True, slots=True)
class Proposal(Generic[Answer]):
    """The proposed answer, and how far the data are from another one.

    An answer of None is no proposal.
    """

    answer: Answer | None
    distance: int


def checked_rows(rows: Rows) -> Integers:
    """Return the rows, int64[rows].

    Raises RowsError, which depends on type and shape, never on a value.
    """
    array = np.asarray(rows)
    if array.size and (not np.issubdtype(array.dtype, np.integer) or array.dtype == np.uint64):
        raise RowsError(
            f"rows must be integers of at most 64 bits with a sign, got {array.dtype}: round real "
            "values to a public grid (cents, tenths) and pass how many steps they are"
        )
    if array.ndim != 1:
        raise RowsError(f"rows must be one number a row, got an array of shape {array.shape}")
    return array.astype(np.int64)


def propose_quantile(rows: Rows, quantile: Fraction = Fraction(1, 2)) -> Proposal[int]:
    """Propose the row of rank ⌈quantile · n⌉, counted from the least: at 1/2 the lower median.

    Neighbours replace one row, and n ≥ 1 is public. Takes O(n), by selection.
    """
    values = checked_rows(rows)
    rank = _rank(len(values), quantile)
    answer = int(np.partition(values, rank - 1)[rank - 1])
    below, above = int((values < answer).sum()), int((values > answer).sum())
    return Proposal(answer, min(rank - below, len(values) - rank + 1 - above))


def _rank(rows: int, quantile: object) -> int:
    if not isinstance(quantile, Fraction) or not 0 < quantile <= 1:
        raise ParameterError(
            f"quantile must be a Fraction in (0, 1], like Fraction(9, 10), got {quantile!r}"
        )
    if not rows:
        raise RowsError("a quantile needs at least 1 row, got 0")
    return math.ceil(quantile * rows)


def propose_mode(rows: Rows, *, adjacency: Adjacency = Adjacency.REPLACE) -> Proposal[int]:
    """Propose the most frequent value, the least of equals; nothing without rows."""
    values = checked_rows(rows)
    if not len(values):
        return Proposal(None, 0)
    distinct, counts = np.unique(values, return_counts=True)
    apart = 2 if adjacency is Adjacency.REPLACE else 1
    # without another value, a value without rows is next
    distance = propose_argmax(np.append(counts, 0), range_sensitivity=apart).distance
    return Proposal(int(distinct[counts.argmax()]), distance)


def propose_argmax(counts: Rows, *, range_sensitivity: int) -> Proposal[int]:
    """Propose the place of the largest count, the first of equals.

    counts: raw integers. `range_sensitivity` is how far one row moves two of them apart: for
    reports of m bits, 2m, not 2. Raises SensitivityError unless it is an integer of at least 1.
    """
    values = checked_rows(counts)
    if len(values) < 2:
        raise RowsError(f"counts must be of at least 2 candidates, got {len(values)}")
    apart = _apart(range_sensitivity)
    place = int(values.argmax())
    second = int(np.delete(values, place).max())
    return Proposal(place, -((second - int(values[place])) // apart))


def _apart(range_sensitivity: SupportsIndex) -> int:
    try:
        apart = index(range_sensitivity)
    except TypeError:
        apart = 0
    if apart < 1:
        raise SensitivityError(
            f"range_sensitivity must be an integer of at least 1, got {range_sensitivity!r}"
        )
    return apart
