"""The mean in one bit: how many reports say "up", and the mean from that.

    x̄ = (c/n − q)/(p − q)        the mean as a share of the way from the lowest value to the highest

A device with value x reports "up" with probability q + (p − q)x. This is the law of randomized
response on a bit that is 1 with probability x. So errors and intervals are those of a frequency,
and hold for every distribution of the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_estimators.inference.channel import Channel, Counts
from deniable_estimators.inference.debias import Estimate, debias
from deniable_estimators.inference.payload_arrays import (
    Payloads,
    checked_payloads,
    checked_tally,
    clusters_of,
)
from deniable_estimators.inference.public_scores import Ceiling, PublicScores
from deniable_shared.errors import DecodeError

if TYPE_CHECKING:
    from deniable_shared.mechanisms.protocols import Mechanism


@dataclass(frozen=True, slots=True)
class OneBitMeanEstimator:
    """The estimator of "duchi/1". Its tally is one count; its one estimate is the mean."""

    default_projection: ClassVar[str] = "clip"
    estimand: ClassVar[str] = "mean"
    mechanism: Mechanism
    repeat: str = "once"

    def tally(self, payloads: Payloads) -> Counts:
        bits = checked_payloads(payloads, self.mechanism.payload_size)
        if bits.size and bits.max() > 1:
            raise DecodeError("payloads must be 0 or 1: validate them first")
        return np.array([np.count_nonzero(bits)])

    def checked(self, tally: Counts, n: int) -> tuple[Counts, int]:
        return checked_tally(tally, n, self.mechanism.tally_size)

    def supports(self, tallies: Counts) -> Counts:
        return tallies[..., :0]

    def public_mean(self) -> PublicScores:
        """See `PublicMean`."""
        p, q = float(self.mechanism.p), float(self.mechanism.q)
        up, down = (1 - q) / (p - q), -q / (p - q)
        ceiling = Ceiling.between(q * up**2 + (1 - q) * down**2, p * up**2 + (1 - p) * down**2)
        ends = np.array([down]), np.array([up])
        return PublicScores(np.array([[1 / (p - q)]]), ends[0], *ends, (ceiling,))

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
        return debias(
            Channel(self.mechanism.p, self.mechanism.q),
            counts,
            reports,
            confidence=confidence,
            epochs=epochs,
            family=family,
            clusters=clusters_of(self.mechanism, self.repeat, epochs),
        )
