"""Cyclic designs: how often each code was reported, and what that says of the choices.

    T_v = Σ_{δ in D} h[v + δ mod K]      f̂_v = (T_v/n − q)/(p − q),   Σ_v f̂_v = 1 over all K codes

The supports T are a correlation on a circle, taken by Fourier transform of zero-padded counts and
rounded to integers. Every T_v is within ¼ of an integer and all together are w·n, or the counts are
split into halves until that is so: the result is exact for any counts.

Tally: the histogram of the K codes. The d choices come first in T; the K − d codes after them stand
for nothing, so that their estimates are 0 but for noise whatever is true.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from deniable_aggregator.estimate import Estimate, debias
from deniable_aggregator.estimate.channel import Channel, Counts
from deniable_aggregator.estimators.contract import (
    Payloads,
    checked_payloads,
    checked_tally,
    clusters_of,
)
from deniable_aggregator.estimators.grr import histogram
from deniable_shared.chains import Renewed
from deniable_shared.difference_sets import difference_set
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.contract import Mechanism
from deniable_shared.mechanisms.cyclic import CyclicResponse

__all__ = ["CyclicEstimator", "correlated", "spectrum_of"]

_CLOSE = 0.25


@dataclass(frozen=True, slots=True)
class CyclicEstimator:
    """The estimator of "cyclic/1". Its tally is the histogram of the codes."""

    default_projection: ClassVar[str] = "simplex"
    tells: ClassVar[str] = "labels"
    mechanism: Mechanism
    repeat: str = "once"

    @property
    def _form(self) -> CyclicResponse:
        first = self.mechanism.first if isinstance(self.mechanism, Renewed) else self.mechanism
        if not isinstance(first, CyclicResponse):
            raise ParameterError(f"mechanism must be cyclic/1, got {self.mechanism.id}")
        return first

    def tally(self, payloads: Payloads) -> Counts:
        rows = checked_payloads(payloads, self.mechanism.payload_size)
        return histogram(rows, self.mechanism.tally_size)

    def supports(self, tallies: Counts) -> Counts:
        return self.codes(tallies)[..., : self.mechanism.domain_size]

    def estimate(
        self,
        tally: Counts,
        n: int,
        *,
        confidence: float = 0.95,
        epochs: int = 1,
        family: str = "each",
    ) -> Estimate:
        counts, reports = checked_tally(tally, n, self.mechanism.tally_size)
        if counts.sum() != reports:
            raise ParameterError(f"tally must add up to n = {reports}, got {counts.sum()}")
        return debias(
            Channel(self.mechanism.p, self.mechanism.q),
            self.supports(counts),
            reports,
            confidence=confidence,
            epochs=epochs,
            family=family,
            clusters=clusters_of(self.mechanism, self.repeat, epochs),
        )

    def codes(self, tallies: Counts) -> Counts:
        """Supports of all K codes; those from `domain_size` on stand for nothing."""
        return correlated(tallies, self._form)


def correlated(counts: Counts, form: CyclicResponse) -> Counts:
    """T of all K codes along the last axis, exactly."""
    spectrum, length = spectrum_of(form.field_order, form.dimension)
    twice = np.concatenate([counts, counts], axis=-1)
    raw = np.fft.irfft(np.fft.rfft(twice, length) * spectrum, length)[..., : form.symbols]
    rounded = np.rint(raw)
    found: Counts = rounded.astype(np.int64)
    exact = form.favoured * counts.sum(axis=-1)
    if np.abs(raw - rounded).max(initial=0) < _CLOSE and (found.sum(axis=-1) == exact).all():
        return found
    bits = int(counts.max()).bit_length() >> 1
    low = counts & ((1 << bits) - 1)
    return correlated(low, form) + (correlated(counts >> bits, form) << bits)


@lru_cache(maxsize=8)
def spectrum_of(q: int, t: int) -> tuple[npt.NDArray[np.complex128], int]:
    """Conjugate transform of D's indicator, and the length it is padded to."""
    members = np.array(difference_set(q, t))
    codes = (q**t - 1) // (q - 1)
    length = _padded(2 * codes)
    indicator = np.zeros(length)
    indicator[members] = 1.0
    return np.conj(np.fft.rfft(indicator)), length


def _padded(least: int) -> int:
    """The least 2^a or 3·2^a that is at least so long."""
    power = 1 << (least - 1).bit_length()
    return min(power, 3 * power // 4 if 3 * power // 4 >= least else power)
