"""Prepared releases of sums: a linear reading with two-sided geometric noise on every row.

    W·tally + N,   Pr[N = k] = (1 − z)/(1 + z) z^|k|,   z = e^(−ε/Δ1)      ε-DP

Δ1 is the most that one report moves all rows together (`tally_spaces`). Shares and intervals are
computed from the noisy sums. An interval inverts the law of the devices' noise plus this one
(`confidence_limits`), with the variance at the limit. It covers the share of the population that
the answers were drawn from, for every distribution of the values, at every n.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.arguments import noise_decay
from deniable_aggregator.releases.kinds.confidence_limits import NoisyFrequency
from deniable_aggregator.releases.kinds.contract import Counts, ReleaseResult, Tallies
from deniable_aggregator.releases.kinds.error_bars import CONFIDENCE, combined_half_widths
from deniable_aggregator.releases.kinds.tally_spaces import l1_of
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_central.release import ErrorBar
from deniable_central.samplers.noise import noisy_pmf, two_sided_geometric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from deniable_aggregator.releases.kinds.linear_reading import LinearReading
    from deniable_central.pmf import Pmf
    from deniable_estimators.inference.channel import Floats
    from deniable_shared.randomness.coins import Coins


@dataclass(frozen=True, slots=True, eq=False)
class NoisySums:
    """The draw: raw integers, shares, standard errors and limits, one for each row."""

    noisy: Counts
    shares: Floats
    std_errors: Floats
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class PreparedSums:
    """A valid request for sums: see `contract.PreparedRelease`.

    `show` makes the result from the draw; `quantity` names the error of one share, in `unit`s.
    """

    mechanism: str
    version: int
    parameters: Mapping[str, object]
    epsilon: Fraction
    reading: LinearReading
    show: Callable[[NoisySums], Mapping[str, object]]
    quantity: str
    unit: float = 1.0

    def __post_init__(self) -> None:
        _ = self.decay  # raises where there is no such noise

    @property
    def law(self) -> str:
        return "two-sided geometric noise on every sum"

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.pure(self.epsilon, Adjacency.REPLACE)

    @cached_property
    def sensitivity(self) -> int:
        """Δ1; at least 1, so that there is a law."""
        return max(1, l1_of(self.reading.space, self.reading.matrix))

    @property
    def decay(self) -> Fraction:
        return noise_decay(self.epsilon, self.sensitivity)

    @property
    def expected(self) -> tuple[ErrorBar, ...]:
        """The widest interval that any share can have."""
        far = min(1.0, float(self._half_widths().max())) * self.unit
        return (ErrorBar(self.quantity, -far, far, CONFIDENCE),)

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        raw = self.reading(tallies.counts)
        noisy = raw + two_sided_geometric(self.decay, len(raw), coins)
        return ReleaseResult(self.show(self.of(noisy)), self.expected)

    def of(self, noisy: Counts) -> NoisySums:
        """Shares and limits, computed from the noisy sums alone."""
        reading = self.reading
        shares = reading.shares(noisy)
        z = np.exp(-float(self.decay))
        central = 2 * z / np.expm1(-float(self.decay)) ** 2 / reading.scale**2
        errors = np.sqrt(reading.variances(shares) + central)
        lower, upper = self._law.limits_of_each(shares, CONFIDENCE)
        return NoisySums(noisy, shares, errors, lower, upper)

    def pmf(self, tallies: Tallies, *, farthest: int) -> Pmf[tuple[int, ...]]:
        """The certified law of the noisy sums within `farthest` of the true ones, no more."""
        return noisy_pmf(self.reading(tallies.counts).tolist(), self.decay, farthest=farthest)

    @property
    def _law(self) -> NoisyFrequency:
        """A report says a share of the way between the ends of its row."""
        reading = self.reading
        width = reading.high - reading.low
        return NoisyFrequency(
            p=(1 - reading.low) / width,
            q=-reading.low / width,
            variance=reading.variances,
            rate=float(self.decay) * reading.scale,
            step=1 / reading.scale,
        )

    def _half_widths(self) -> Floats:
        """A step more than the tails of the two kinds of noise."""
        scale = self.reading.scale
        variance = self.reading.largest_variances() * scale**2
        widths = combined_half_widths(variance, self.decay, CONFIDENCE)
        return np.asarray((widths + 0.5) / scale)


def estimate_rows(labels: tuple[str, ...], sums: NoisySums) -> list[dict[str, object]]:
    """A row a share, as documents and charts take them."""
    columns = (sums.noisy, sums.shares, sums.std_errors, sums.lower, sums.upper)
    names = ("label", "noisy", "frequency", "std_error", "lower", "upper")
    every = zip(labels, *(column.tolist() for column in columns), strict=True)
    return [dict(zip(names, row, strict=True)) for row in every]
