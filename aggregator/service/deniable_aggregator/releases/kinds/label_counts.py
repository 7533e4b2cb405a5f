"""The counts of a collection's labels: their mean, spread and distance from the truth.

mean       μ(f) of one report, for a label of frequency f: t·(unit·s − offset), t the
           sampling fraction, s = q + f(p − q). A raw sum of label counts is compared with n·μ, a
           public constant, so nothing is divided and sensitivities stay those of integers.
gain       μ(1) − μ(0): what one true answer adds on average; noise N on a count is
           N/gain on people
variance   of the sum over n reports; where one device may have several, at most that of
           devices that answer in every epoch and never change (`estimate.clusters`)
deviation  m sums of label counts, each moved by one report by at most w, are all within it of what
           the true answers make them, except with probability β: with L = ln(2m/β) the lesser of
               w·√(nTL/2)/gain                           Hoeffding
               (TwL/3 + √((TwL/3)² + 2nTVL))/gain        Bernstein, V ≥ their variance
           for devices of at most T reports each and any true answers. Where a report
           supports several labels V is far below w²/4, for they are spread over all labels.

Source: docs/mathematics/releases-over-sums.md, Label counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.message_spaces import message_space_of
from deniable_estimators.inference.designs import largest_variance
from deniable_estimators.inference.payload_arrays import clusters_of
from deniable_shared.domains import Bits
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext
    from deniable_aggregator.releases.kinds.message_space import MessageSpace
    from deniable_estimators.inference.channel import Floats

_LARGEST = 1 << 60


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """The label counts of n reports of one mechanism. Built by `of`."""

    context: ReleaseContext
    messages: MessageSpace

    @classmethod
    def of(cls, context: ReleaseContext) -> LabelCounts:
        """The label counts of a context. Raises ParameterError for too many reports."""
        messages = message_space_of(context.mechanism)
        if context.n * messages.unit >= _LARGEST:
            raise ParameterError(
                f"n must be below {_LARGEST // messages.unit:,}, got {context.n:,}"
            )
        return cls(context, messages)

    def __call__(self, counts: Counts) -> Counts:
        return self.messages.label_counts(counts)

    @property
    def width(self) -> int:
        """The most that one report moves one count."""
        return self.messages.label_sensitivity.linf

    @property
    def gain(self) -> Fraction:
        return self.messages.unit * self.messages.sampling_fraction * self._gap

    @property
    def _gap(self) -> Fraction:
        return self.context.mechanism.p - self.context.mechanism.q

    def expected(self, frequency: Fraction, *, labels: int = 1) -> Fraction:
        """n·μ summed over `labels` labels whose frequencies add up to `frequency`."""
        return self.context.n * (labels * self.expected_noise + frequency * self.gain)

    @property
    def expected_noise(self) -> Fraction:
        """μ(0)."""
        messages, q = self.messages, self.context.mechanism.q
        return messages.sampling_fraction * (messages.unit * q - messages.offset)

    def frequencies(self, label_counts: Counts) -> Floats:
        """Raw debiased frequencies, float64[labels]; they may be negative."""
        noise = self.expected(Fraction(0))
        whole = math.floor(noise)  # subtracted as an integer, so that nothing cancels in floats
        signal = (label_counts - whole) - float(noise - whole)
        return np.asarray(signal / float(self.context.n * self.gain), dtype=np.float64)

    def variance(self, frequencies: Floats) -> Floats:
        """An upper bound of the variance of n label counts at these frequencies in [0, 1]."""
        mechanism, messages = self.context.mechanism, self.messages
        support = float(mechanism.q) + float(self._gap) * frequencies
        if messages.sampling_fraction < 1:
            return self.context.n * self.reports * self._sampled_variance(support)
        clusters = clusters_of(mechanism, self.context.repeat, self.reports)
        spread = support * (1 - support) if clusters is None else clusters.spread(support)
        return np.asarray(self.context.n * float(messages.unit) ** 2 * spread)

    def _sampled_variance(self, support: Floats) -> Floats:
        sampling_fraction, unit = float(self.messages.sampling_fraction), self.messages.unit
        one, offset = unit - self.messages.offset, self.messages.offset
        mean = sampling_fraction * (unit * support - offset)
        variance: Floats = (
            sampling_fraction * (support * one**2 + (1 - support) * offset**2) - mean**2
        )
        return variance

    @property
    def reports(self) -> int:
        """T: the most reports of one device, one an epoch."""
        return 1 if self.context.repeat == "once" else len(self.context.epochs)

    def deviation(self, width: int, *, sums: int, beta: float) -> float:
        """The error in true answers of `sums` sums of label counts, except with probability `beta`.

        One report moves each sum by at most `width`. Each sum is over a set of labels.
        """
        n, together, log = self.context.n, self.reports, math.log(2 * sums) - math.log(beta)
        far = width * math.sqrt(n * together * log / 2)
        if self._bounded and not isinstance(self.context.domain, Bits):
            step = together * width * log / 3
            variance = float(largest_variance(self.context.mechanism))
            far = min(far, step + math.sqrt(step**2 + 2 * n * together * variance * log))
        return far / float(self.gain)

    @property
    def _bounded(self) -> bool:
        """Whether a report supports several labels and contains all of them."""
        return self.messages.most_labels > 1 and self.messages.sampling_fraction == 1
