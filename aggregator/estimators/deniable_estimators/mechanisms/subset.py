"""Subset selection: how many sets hold each choice, and the estimates from that.

    f̂_v = (c_v/n − q)/(p − q),   Σ_v f̂_v = 1 for every set of reports

Sets sent as bits are counted like the bits of `rr/1`, sets of indices by their histogram.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.label_sums import LabelSums
from deniable_estimators.inference.message_laws import TwoLevelLaw, one_code_law
from deniable_estimators.inference.payload_arrays import (
    Payloads,
    checked_payloads,
    checked_tally,
    first_round_as,
)
from deniable_estimators.mechanisms.rr import BitwiseEstimator
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms.subset import SubsetResponse

if TYPE_CHECKING:
    from deniable_estimators.inference.channel import Counts
    from deniable_shared.mechanisms.protocols import Mechanism

_SLICE_ROWS = 65_536  # bincount converts its input to 8 bytes


@dataclass(frozen=True, slots=True)
class SubsetEstimator(LabelSums):
    """The estimator of "subset/1". Its tally counts the sets that hold each choice."""

    default_projection: ClassVar[str] = "simplex"
    estimand: ClassVar[str] = "labels"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def _first_round(self) -> SubsetResponse:
        """The mechanism, or the first round of the chain."""
        return first_round_as(self.mechanism, SubsetResponse, SubsetResponse.id)

    def tally(self, payloads: Payloads) -> Counts:
        rows, form = checked_payloads(payloads, self.mechanism.payload_size), self._first_round
        if not form.listed:
            return _checked(BitwiseEstimator(form).tally(rows), len(rows), form.subset_size)  # pyright: ignore[reportArgumentType]  # a class variable is as good as a property
        codes = np.ascontiguousarray(rows).view(f">u{form.payload_size // form.subset_size}")
        counts = np.zeros(form.domain_size, dtype=np.int64)
        for start in range(0, len(rows), _SLICE_ROWS):
            counts += _histogram(codes[start : start + _SLICE_ROWS], form.domain_size)
        return counts

    def message_law(self) -> TwoLevelLaw | None:
        """The law of messages if a report has one code: then codes are counted like messages."""
        one = self._first_round.subset_size == 1
        return one_code_law(self.mechanism, self.mechanism.tally_size) if one else None

    def supports(self, tallies: Counts) -> Counts:
        return tallies

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        counts, reports = checked_tally(tally, n, self.mechanism.tally_size)
        if counts.sum() != reports * self._first_round.subset_size:
            raise ParameterError(
                f"tally must add up to {self._first_round.subset_size} choices in each of "
                f"n = {reports} reports, got {counts.sum()}"
            )
        return counts, reports


def _checked(counts: Counts, n: int, size: int) -> Counts:
    if counts.sum() != n * size:
        raise DecodeError(f"payloads must hold {size} choices each: validate them first")
    return counts


def _histogram(codes: npt.NDArray[np.integer], size: int) -> Counts:
    if (codes[:, 1:] <= codes[:, :-1]).any():
        raise DecodeError("payloads must name choices in rising order: validate them first")
    seen = np.bincount(codes.reshape(-1), minlength=size)
    if len(seen) > size:
        raise DecodeError(
            f"payloads must name choices below {size}, got {len(seen) - 1}: validate them first"
        )
    return seen.astype(np.int64, copy=False)
