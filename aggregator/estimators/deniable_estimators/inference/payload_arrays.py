"""The inputs of an estimator: payloads, a tally of n reports, and the dependence of reports."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.clusters import Clusters
from deniable_estimators.inference.debias import check_epochs
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.memoization import MemoizedChain

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts
    from deniable_shared.mechanisms.protocols import Mechanism

Payloads = npt.NDArray[np.uint8]

_Form = TypeVar("_Form")


def first_round(mechanism: Mechanism) -> Mechanism:
    """Return the first mechanism of a chain, whose payloads it has; any other mechanism itself."""
    return mechanism.first if isinstance(mechanism, MemoizedChain) else mechanism


def first_round_as(mechanism: Mechanism, kind: type[_Form], name: str) -> _Form:
    """Return the first round if it is of `kind`. Raises ParameterError otherwise."""
    first = first_round(mechanism)
    if not isinstance(first, kind):
        raise ParameterError(f"mechanism must be {name}, got {mechanism.id}")
    return first


def clusters_of(mechanism: Mechanism, repeat: str, epochs: int) -> Clusters | None:
    """Return how reports of one device in these epochs depend on each other; None for one report.

    Under "fresh", each epoch draws the reported labels again. So only the share `sampling_fraction`
    of a device's other reports is about the same label.
    """
    check_epochs(epochs)
    if repeat == "once" or epochs == 1:
        return None
    if isinstance(mechanism, MemoizedChain):
        low = mechanism.redraw_support
        return Clusters(low, low + mechanism.keep_probability, Fraction(epochs))
    return Clusters(mechanism.q, mechanism.p, 1 + (epochs - 1) * mechanism.sampling_fraction)


def checked_payloads(payloads: object, payload_size: int) -> Payloads:
    """Return the payloads if they are rows of `payload_size` bytes.

    Raises ParameterError if not.
    """
    if not isinstance(payloads, np.ndarray) or payloads.dtype != np.uint8:
        given = getattr(payloads, "dtype", type(payloads).__name__)
        raise ParameterError(f"payloads must be a numpy array of uint8, got {given}")
    if payloads.ndim != 2 or payloads.shape[1] != payload_size:
        raise ParameterError(
            f"payloads must have shape (n, {payload_size}), one row a report, got {payloads.shape}"
        )
    return payloads


def checked_tally(tally: Counts, n: int, tally_size: int) -> tuple[Counts, int]:
    """Return the tally as int64 and n as int. Raises ParameterError if n reports cannot give it."""
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


def checked_histogram(tally: Counts, n: int, size: int) -> tuple[Counts, int]:
    """Return the same for a tally that counts each report once: it must add up to n."""
    counts, reports = checked_tally(tally, n, size)
    if counts.sum() != reports:
        raise ParameterError(f"tally must add up to n = {reports}, got {counts.sum()}")
    return counts, reports
