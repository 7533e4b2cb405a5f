"""`histogram`: the share of each label, from counts with two-sided geometric noise.

    c_v + N_v,   Pr[N = k] = (1 − z)/(1 + z) z^|k|,   z = e^(−ε/Δ1)      ε-DP

Δ1 is how far one report moves all counts together (`message_spaces`): 2 for a choice, m for m bits.
Frequencies, their spread and the projection are computed from the noisy counts. Each
interval inverts the law of the devices' noise plus this one (`confidence_limits`). It covers the
frequency of the population that the answers were drawn from, and that among these answers more
often still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    noise_decay,
    read_epsilon,
    with_defaults,
)
from deniable_aggregator.releases.kinds.confidence_limits import NoisyFrequency
from deniable_aggregator.releases.kinds.contract import (
    Counts,
    ReleaseContext,
    ReleaseResult,
    Tallies,
)
from deniable_aggregator.releases.kinds.error_bars import CONFIDENCE, combined_half_widths
from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_central.release import ErrorBar
from deniable_central.samplers.noise import noisy_pmf, two_sided_geometric
from deniable_estimators.inference.projection import onto_box, onto_simplex
from deniable_shared.domains import Bits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from deniable_central.pmf import Pmf
    from deniable_estimators.inference.channel import Floats
    from deniable_shared.randomness.coins import Coins

PARAMETERS = (EPSILON,)


@dataclass(frozen=True, slots=True, eq=False)
class PreparedHistogram:
    """A valid request for all counts: see `contract.PreparedRelease`."""

    mechanism: ClassVar[str] = "histogram"
    version: ClassVar[int] = 1

    epsilon: Fraction
    label_counts: LabelCounts

    @property
    def parameters(self) -> Mapping[str, object]:
        return {"epsilon": decimal_text(self.epsilon)}

    @property
    def law(self) -> str:
        return "two-sided geometric noise on every count"

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.pure(self.epsilon, Adjacency.REPLACE)

    @property
    def decay(self) -> Fraction:
        return self.epsilon / self.label_counts.messages.label_sensitivity.l1

    @property
    def expected(self) -> tuple[ErrorBar, ...]:
        """The widest interval that any frequency can have."""
        far = float(self._half_widths(self._widest()).max())
        return (ErrorBar("error of each frequency", -far, far, CONFIDENCE),)

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        counts = self.label_counts(tallies.counts)
        noisy = counts + two_sided_geometric(self.decay, len(counts), coins)
        return ReleaseResult({"estimates": self._estimates(noisy)}, self.expected)

    def pmf(self, tallies: Tallies, *, farthest: int) -> Pmf[tuple[int, ...]]:
        """The certified law of the noisy counts within `farthest` of the true ones, no more."""
        counts = self.label_counts(tallies.counts).tolist()
        return noisy_pmf(counts, self.decay, farthest=farthest)

    def _estimates(self, noisy: Counts) -> list[dict[str, object]]:
        raw = self.label_counts.frequencies(noisy)
        clipped = onto_box(raw)
        project = onto_box if isinstance(self.label_counts.context.domain, Bits) else onto_simplex
        lower, upper = self._law.limits(raw, CONFIDENCE)
        columns = zip(
            self.label_counts.context.domain.labels,
            noisy.tolist(),
            raw.tolist(),
            self._std_errors(clipped).tolist(),
            lower.tolist(),
            upper.tolist(),
            project(raw).tolist(),
            strict=True,
        )
        names = ("label", "noisy", "frequency", "std_error", "lower", "upper", "projected")
        return [dict(zip(names, column, strict=True)) for column in columns]

    def _std_errors(self, frequencies: Floats) -> Floats:
        """Standard errors at clip(f̂, 0, 1), as in estimates: the local part and 2z/(1 − z)²."""
        z = np.exp(-float(self.decay))
        noise = 2 * z / np.expm1(-float(self.decay)) ** 2
        return np.asarray(np.sqrt(self.label_counts.variance(frequencies) + noise) / self._scale)

    @property
    def _law(self) -> NoisyFrequency:
        mechanism, label_counts = self.label_counts.context.mechanism, self.label_counts
        return NoisyFrequency(
            p=float(mechanism.p),
            q=float(mechanism.q),
            variance=lambda f: label_counts.variance(f) / self._scale**2,
            rate=float(self.decay) * self._scale,
            step=label_counts.messages.unit / self._scale,
        )

    def _half_widths(self, frequencies: Floats) -> Floats:
        """The tails of the two kinds of noise, and half a step of the count."""
        variance = self.label_counts.variance(frequencies)
        widths = combined_half_widths(variance, self.decay, CONFIDENCE)
        return np.asarray((widths + self.label_counts.messages.unit / 2) / self._scale)

    @property
    def _scale(self) -> float:
        return float(self.label_counts.context.n * self.label_counts.gain)

    def _widest(self) -> Floats:
        """The frequencies at which the local variance, a parabola, can be largest."""
        low, middle, high = self.label_counts.variance(np.array([0.0, 0.5, 1.0])).tolist()
        bend, slope = 2 * (low - 2 * middle + high), 4 * middle - 3 * low - high
        top = min(max(-slope / (2 * bend), 0.0), 1.0) if bend < 0 else 0.0
        return np.array([0.0, top, 1.0])


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedHistogram:
    """The prepared release. Raises ParameterError for arguments that do not fit here."""
    complete = with_defaults("histogram", PARAMETERS, arguments)
    epsilon, label_counts = read_epsilon(complete["epsilon"]), LabelCounts.of(context)
    noise_decay(epsilon, label_counts.messages.label_sensitivity.l1)
    return PreparedHistogram(epsilon, label_counts)
