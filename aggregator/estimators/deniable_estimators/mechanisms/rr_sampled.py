"""Randomized response on t of m bits: the reports about each bit, and how many of them are ones.

    f̂_j = (o_j/n_j − q)/(p − q)        n_j: reports about bit j, o_j: those that are ones

Dividing by the received n_j (Hájek) and not by the expected n·t/m (Horvitz–Thompson) is never
worse. The bits are drawn without the value. So given the n_j, the o_j are those of n_j people, and
everything that holds for n reports of one bit holds here for n_j. A bit without reports has no
estimate. Tally: the m numbers n_j, then the m numbers o_j.

Source: docs/mathematics/sampling.md, Some of the bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.channel import Channel, Counts
from deniable_estimators.inference.debias import Estimate, debias
from deniable_estimators.inference.payload_arrays import (
    Payloads,
    checked_payloads,
    checked_tally,
    clusters_of,
)
from deniable_shared.domains import bytes_for
from deniable_shared.errors import DecodeError, ParameterError

if TYPE_CHECKING:
    from deniable_shared.mechanisms.protocols import Mechanism

_SLICE_ROWS = 65_536  # bincount converts its input to 8 bytes: half a megabyte stays in cache


@dataclass(frozen=True, slots=True)
class SampledEstimator:
    """The estimator of "rr-sampled/1". Its tally counts, bit by bit, reports and then ones."""

    default_projection: ClassVar[str] = "clip"
    estimand: ClassVar[str] = "labels"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def _bits(self) -> int:
        return self.mechanism.domain_size

    @property
    def _sampled(self) -> int:
        """t, the number of codes in every payload."""
        return self.mechanism.payload_size // bytes_for(2 * self._bits)

    def tally(self, payloads: Payloads) -> Counts:
        rows = checked_payloads(payloads, self.mechanism.payload_size)
        seen = np.zeros(2 * self._bits, dtype=np.int64)
        for start in range(0, len(rows), _SLICE_ROWS):
            seen += self._histogram(_codes(rows[start : start + _SLICE_ROWS], self._sampled))
        return np.concatenate([seen[0::2] + seen[1::2], seen[1::2]])

    def _histogram(self, codes: npt.NDArray[np.integer]) -> Counts:
        places = codes >> 1
        if (places[:, 1:] <= places[:, :-1]).any():
            raise DecodeError("payloads must name places in rising order: validate them first")
        seen = np.bincount(codes.reshape(-1), minlength=2 * self._bits)
        if len(seen) > 2 * self._bits:
            raise DecodeError(
                f"payloads must name places below {self._bits}, got {(len(seen) - 1) // 2}: "
                "validate them first"
            )
        return seen.astype(np.int64, copy=False)

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        counts, reports = checked_tally(tally, n, self.mechanism.tally_size)
        trials, ones = counts[: self._bits], counts[self._bits :]
        if trials.sum() != self._sampled * reports or (ones > trials).any():
            raise ParameterError(
                f"tally must have {self._sampled} bits in each of n = {reports} reports, and "
                f"no more ones than bits, got {trials.sum()} and {ones.sum()}"
            )
        return counts, reports

    def supports(self, tallies: Counts) -> Counts:
        return tallies[..., self._bits :]

    def estimate(
        self,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
        family: str = "each",
    ) -> Estimate:
        counts, reports = self.checked(tally, n)
        trials, ones = counts[: self._bits], counts[self._bits :]
        return debias(
            Channel(self.mechanism.p, self.mechanism.q),
            ones,
            reports,
            confidence=confidence,
            epochs=epochs,
            family=family,
            clusters=clusters_of(self.mechanism, self.repeat, epochs),
            trials=trials,
            sampling_fraction=self.mechanism.sampling_fraction,
        )


def _codes(rows: Payloads, coordinates: int) -> npt.NDArray[np.integer]:
    """Return int64[n, t]: 2·place + bit, big-endian in one or two bytes each."""
    return np.ascontiguousarray(rows).view(f">u{rows.shape[1] // coordinates}")
