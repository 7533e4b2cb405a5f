"""Bit-vector randomized response: how often each bit is reported as 1, and the estimates from that.

    f̂_j = (c_j/n − q)/(p − q),   p, q of the share of ε that one bit has

Reports of up to four bytes are counted by a histogram of each byte column. Longer reports go
through a tree of carry-save adders, 64 counters to a machine word. Rows that are too few for a tree
are unpacked.

Source: docs/mathematics/direct-answers.md, One bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.payload_arrays import Payloads, checked_payloads
from deniable_estimators.inference.support_counts import SupportEstimator
from deniable_shared.errors import DecodeError

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts
    from deniable_shared.mechanisms.protocols import Mechanism

_Words = npt.NDArray[np.uint64]
_BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)
_HISTOGRAM_BYTES = 4  # above, the adder tree is faster
_HISTOGRAM_ROWS = 256
_SLICE_ROWS = 65_536  # bincount converts its input to 8 bytes: half a megabyte stays in cache
_TREE_BYTES = 1 << 20
_LEAST_TREE = 2048  # rows; below, unpacking is as fast


@dataclass(frozen=True, slots=True)
class BitwiseEstimator(SupportEstimator):
    """The estimator of "rr/1". Its tally counts ones, bit by bit."""

    default_projection: ClassVar[str] = "clip"
    estimand: ClassVar[str] = "labels"
    mechanism: Mechanism
    repeat: str = "once"

    def tally(self, payloads: Payloads) -> Counts:
        rows = checked_payloads(payloads, self.mechanism.payload_size)
        ones = column_sums(rows)
        size = self.mechanism.tally_size
        if ones[size:].any():
            raise DecodeError(f"payloads must have zeros after bit {size}: validate them first")
        return ones[:size]

    def supports(self, tallies: Counts) -> Counts:
        return tallies


def column_sums(rows: Payloads) -> Counts:
    """Return how many rows have a one in each of their bits."""
    count, size = rows.shape
    if size <= _HISTOGRAM_BYTES and count >= _HISTOGRAM_ROWS:
        return _sums_by_histogram(rows)
    sums = np.zeros(8 * size, dtype=np.int64)
    done = 0
    while (height := _tree_height(count - done, size)) >= _LEAST_TREE:
        sums += _sums_by_adders(rows[done : done + height])
        done += height
    return sums + _sums_by_unpacking(rows[done:])


def _tree_height(left: int, size: int) -> int:
    """Return the largest power of two of rows that are left and fit into the cache together."""
    return 1 << (max(1, min(left, max(_TREE_BYTES // size, _LEAST_TREE))).bit_length() - 1)


def _sums_by_histogram(rows: Payloads) -> Counts:
    seen = np.zeros((rows.shape[1], 256), dtype=np.int64)
    for start in range(0, len(rows), _SLICE_ROWS):
        for place, column in enumerate(rows[start : start + _SLICE_ROWS].T):
            seen[place] += np.bincount(column, minlength=256)
    return (seen @ _BITS_OF_BYTE).reshape(-1)


def _sums_by_unpacking(rows: Payloads) -> Counts:
    """Return column sums of fewer than 2^16 rows: short integers add three times as fast."""
    sums: npt.NDArray[np.uint16] = np.unpackbits(rows, axis=1).sum(axis=0, dtype=np.uint16)
    return sums.astype(np.int64)


def _sums_by_adders(rows: Payloads) -> Counts:
    """Return column sums of a power of two ≥ 8 of rows: halves are added until eight rows are left.

    Plane k has bit k of every counter. Eight rows fill whole words, for every row length.
    """
    planes = [np.ascontiguousarray(rows).reshape(-1).view(np.uint64)]
    height = len(rows)
    while height > 8:
        planes = _add_halves(planes)
        height //= 2
    sums = np.zeros(8 * rows.shape[1], dtype=np.int64)
    for weight, plane in enumerate(planes):
        sums += _sums_by_unpacking(plane.view(np.uint8).reshape(height, -1)) << weight
    return sums


def _add_halves(planes: list[_Words]) -> list[_Words]:
    half = len(planes[0]) // 2
    one, other = planes[0][:half], planes[0][half:]
    added, carry = [one ^ other], one & other
    for plane in planes[1:]:
        one, other = plane[:half], plane[half:]
        either = one ^ other
        added.append(either ^ carry)
        carry = (one & other) | (either & carry)
    return [*added, carry]
