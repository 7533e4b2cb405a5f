"""Generalized randomized response: how often each value was reported, and what that says.

f̂_v = (c_v/n − q)/(p − q),   Σ_v f̂_v = 1 for every set of reports

A report of y says φ(y) = (a_y − qA)/(p − q) of a sum Σ_v a_v·f_v, where A = Σ_v a_v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from deniable_aggregator.estimate import Estimate, debias
from deniable_aggregator.estimate.channel import Channel, Counts, Floats
from deniable_aggregator.estimate.functionals import (
    Cumulative,
    Functionals,
    Moments,
    Repeated,
    checked_weights,
)
from deniable_aggregator.estimate.quantity import isotonic
from deniable_aggregator.estimators.contract import (
    Payloads,
    checked_histogram,
    checked_payloads,
    clusters_of,
)
from deniable_shared.errors import DecodeError
from deniable_shared.mechanisms.contract import Mechanism

__all__ = ["GeneralizedEstimator", "histogram"]

_SLICE_ROWS = 65_536  # bincount widens its input to 8 bytes: half a megabyte stays in cache


@dataclass(frozen=True, slots=True)
class GeneralizedEstimator:
    """The estimator of "grr/1". Its tally is the histogram of the reported values."""

    default_projection: ClassVar[str] = "simplex"
    tells: ClassVar[str] = "labels"
    mechanism: Mechanism
    repeat: str = "once"

    def tally(self, payloads: Payloads) -> Counts:
        rows = checked_payloads(payloads, self.mechanism.payload_size)
        return histogram(rows, self.mechanism.tally_size)

    def supports(self, tallies: Counts) -> Counts:
        return tallies

    def estimate(
        self,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
        family: str = "each",
    ) -> Estimate:
        counts, reports = self._checked(tally, n)
        channel = Channel(self.mechanism.p, self.mechanism.q)
        return debias(
            channel,
            counts,
            reports,
            confidence=confidence,
            epochs=epochs,
            family=family,
            clusters=clusters_of(self.mechanism, self.repeat, epochs),
        )

    def _checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        return checked_histogram(tally, n, self.mechanism.tally_size)

    def functionals(
        self,
        weights: Floats,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
    ) -> Functionals:
        counts, reports = self._checked(tally, n)
        rows = checked_weights(weights, self.mechanism.domain_size)
        p, q = float(self.mechanism.p), float(self.mechanism.q)
        all_of, squares = rows.sum(axis=1, keepdims=True), (rows**2).sum(axis=1, keepdims=True)
        within = p * rows**2 + q * (squares - rows**2) - (p * rows + q * (all_of - rows)) ** 2
        least = np.maximum(within, 0.0).min(axis=1) / (p - q) ** 2
        moments = Moments.of_scores((rows - q * all_of) / (p - q), counts, least)
        return moments.functionals(
            reports, Repeated.of(self.mechanism, self.repeat, epochs), confidence
        )

    def cumulative(
        self, tally: Counts, n: int, *, confidence: float = 0.95, epochs: int = 1
    ) -> Cumulative:
        """As `functionals` of indicators, without a matrix of them."""
        counts, reports = self._checked(tally, n)
        p, q = float(self.mechanism.p), float(self.mechanism.q)
        members = np.arange(1.0, len(counts))
        share = np.cumsum(counts)[:-1] / max(reports, 1)
        inside, outside = p + (members - 1) * q, members * q
        uniform = members / len(counts)
        moments = Moments(
            mean=(share - outside) / (p - q),
            variance=share * (1 - share) / (p - q) ** 2,
            low=-outside / (p - q),
            high=(1 - outside) / (p - q),
            least=np.minimum(inside * (1 - inside), outside * (1 - outside)) / (p - q) ** 2,
            uniform_mean=(uniform - outside) / (p - q),
            uniform_variance=uniform * (1 - uniform) / (p - q) ** 2,
        )
        band = moments.functionals(
            reports, Repeated.of(self.mechanism, self.repeat, epochs), confidence
        )
        return Cumulative(band, isotonic(moments.mean))


def histogram(rows: Payloads, size: int) -> Counts:
    """How often each big-endian index below `size` stands in a row; DecodeError for any other."""
    counts = np.zeros(size, dtype=np.int64)
    slice_rows = max(_SLICE_ROWS, 2 * size)  # each slice costs a pass over the counts, too
    for start in range(0, len(rows), slice_rows):
        seen = np.bincount(_indices(rows[start : start + slice_rows]), minlength=size)
        if len(seen) > size:
            raise DecodeError(
                f"payloads must hold indices below {size}, got {len(seen) - 1}: validate them first"
            )
        counts += seen
    return counts


def _indices(rows: Payloads) -> npt.NDArray[np.integer]:
    """Each row of one to three bytes read as one big-endian integer."""
    size = rows.shape[1]
    if size <= 2:
        return np.ascontiguousarray(rows).view(f">u{size}")[:, 0]
    padded = np.append(rows.reshape(-1), np.uint8(0))  # the last word reaches one byte further
    words: npt.NDArray[np.uint32] = np.ndarray(len(rows), ">u4", padded, strides=(size,))
    indices: npt.NDArray[np.int64] = np.right_shift(words, 8, dtype=np.int64)
    return indices
