"""What an estimator promises, and the checks of what it is given."""

from __future__ import annotations

import operator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from deniable_aggregator.channel import Counts
from deniable_aggregator.estimate import Estimate
from deniable_shared.errors import ParameterError

__all__ = ["Estimator", "Payloads", "checked_payloads", "checked_tally"]

Payloads = npt.NDArray[np.uint8]


class Estimator(Protocol):
    """The numpy half of a mechanism. Tallies add: tally(A ∪ B) = tally(A) + tally(B)."""

    @property
    def default_projection(self) -> str:
        """The projection that fits the domain: "clip" or "simplex"."""

    def tally(self, payloads: Payloads) -> Counts:
        """Supports of each label in payloads (n, payload_size): int64 of length tally_size.

        ParameterError for another shape or dtype, DecodeError for a payload no sender can make.
        """

    def estimate(
        self,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
        family: str = "each",
    ) -> Estimate:
        """Debias a tally of n reports; ParameterError for a tally that n reports cannot give."""


def checked_payloads(payloads: object, payload_size: int) -> Payloads:
    """The payloads, if they are rows of `payload_size` bytes."""
    if not isinstance(payloads, np.ndarray) or payloads.dtype != np.uint8:
        given = getattr(payloads, "dtype", type(payloads).__name__)
        raise ParameterError(f"payloads must be a numpy array of uint8, got {given}")
    if payloads.ndim != 2 or payloads.shape[1] != payload_size:
        raise ParameterError(
            f"payloads must have shape (n, {payload_size}), one row a report, got {payloads.shape}"
        )
    return payloads


def checked_tally(tally: Counts, n: int, tally_size: int) -> tuple[Counts, int]:
    """The tally as int64 and n as int, if n reports can support each label that often."""
    reports = operator.index(n)
    counts = np.asarray(tally)
    if counts.dtype.kind not in "iu" or counts.shape != (tally_size,):
        raise ParameterError(
            f"tally must be {tally_size} integers, got {counts.dtype} of shape {counts.shape}"
        )
    if reports < 0:
        raise ParameterError(f"n must be at least 0, got {reports}")
    if counts.min() < 0 or counts.max() > reports:
        raise ParameterError(
            f"tally must lie in 0..n = {reports}, got {counts.min()}..{counts.max()}"
        )
    return counts.astype(np.int64, copy=False), reports
