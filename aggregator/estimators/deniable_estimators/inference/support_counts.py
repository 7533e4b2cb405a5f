"""The part of an estimator that debiases how often each label was supported.

    f̂_v = (c_v/n − q)/(p − q)        c_v of n reports support v

If the tally is the histogram of the payloads, counting them is the same for all mechanisms.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.channel import Channel, Counts
from deniable_estimators.inference.debias import Estimate, debias
from deniable_estimators.inference.payload_arrays import (
    Payloads,
    checked_histogram,
    checked_payloads,
    checked_tally,
    clusters_of,
)
from deniable_shared.errors import DecodeError

if TYPE_CHECKING:
    from deniable_shared.mechanisms.protocols import Mechanism

_SLICE_ROWS = 65_536  # bincount converts its input to 8 bytes: half a megabyte stays in cache


class SupportEstimator(ABC):
    """Estimates all labels from the reports that support each."""

    __slots__ = ()

    mechanism: Mechanism
    repeat: str

    @abstractmethod
    def supports(self, tallies: Counts) -> Counts:
        """See `protocols.Estimator`."""

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        """Return the tally and n. Raises ParameterError for a tally that n reports cannot give."""
        return checked_tally(tally, n, self.mechanism.tally_size)

    def estimate(
        self,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
        family: str = "each",
    ) -> Estimate:
        """See `protocols.Estimator`."""
        counts, reports = self.checked(tally, n)
        return debias(
            Channel(self.mechanism.p, self.mechanism.q),
            self.supports(counts),
            reports,
            confidence=confidence,
            epochs=epochs,
            family=family,
            clusters=clusters_of(self.mechanism, self.repeat, epochs),
        )


class HistogramEstimator(SupportEstimator):
    """A SupportEstimator whose tally counts each payload."""

    __slots__ = ()

    def tally(self, payloads: Payloads) -> Counts:
        """Return how often each payload came."""
        rows = checked_payloads(payloads, self.mechanism.payload_size)
        return histogram(rows, self.mechanism.tally_size)

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        """Return the tally and n. Raises ParameterError unless the tally adds up to n."""
        return checked_histogram(tally, n, self.mechanism.tally_size)

    def reports_of(self, tally: Counts) -> int:
        """Return the number of reports in the tally."""
        return int(tally.sum())


def histogram(rows: Payloads, size: int) -> Counts:
    """Return how often each big-endian index below `size` is in a row.

    Raises DecodeError for any other index.
    """
    counts = np.zeros(size, dtype=np.int64)
    slice_rows = max(_SLICE_ROWS, 2 * size)  # each slice also costs a pass over the counts
    for start in range(0, len(rows), slice_rows):
        seen = np.bincount(_indices(rows[start : start + slice_rows]), minlength=size)
        if len(seen) > size:
            raise DecodeError(
                f"payloads must hold indices below {size}, got {len(seen) - 1}: validate them first"
            )
        counts += seen
    return counts


def _indices(rows: Payloads) -> npt.NDArray[np.integer]:
    """Return each row of one to three bytes as one big-endian integer."""
    size = rows.shape[1]
    if size <= 2:
        return np.ascontiguousarray(rows).view(f">u{size}")[:, 0]
    flat = np.ascontiguousarray(rows).reshape(-1)
    indices = np.empty(len(rows), dtype=np.int64)
    # A word also holds the first byte of the next row, which the last row does not have.
    words: npt.NDArray[np.uint32] = np.ndarray(len(rows) - 1, ">u4", flat, strides=(size,))
    np.right_shift(words, 8, out=indices[:-1], dtype=np.int64)
    indices[-1] = int.from_bytes(flat[-size:].tobytes(), "big")
    return indices
