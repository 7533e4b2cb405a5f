"""The difference of a label's frequency between two periods: δ̂ = f̂₂ − f̂₁.

With limits [l, u] of each frequency that miss half as often as the difference may miss, the
interval

    [l₂ − u₁, u₂ − l₁]

holds at every n and for any dependence of the two periods (Bonferroni). If both have 1,000 devices
on the rarer side, and shares of supports within ¼ of each other, the distances of the full limits
are combined instead:

    δ̂ − √(b² + a² + 2r·a·b)        b = f̂₂ − l₂,  a = u₁ − f̂₁;  the upper limit alike

r bounds the correlation of the two errors. It is 0 if no device reports twice. Otherwise a device
may have reported in both periods, with any values and permanent answers. Its reports share only the
hidden bit (`clusters`), which causes the share ρ of the variance of a frequency,

    ρ = T·C/(W + T·C)    C = (high − low)²·θ(1 − θ)    W = (1 − θ)·low(1 − low) + θ·high(1 − high)

for up to T reports a device. By Cauchy and Schwarz r ≤ √(ρ₁ρ₂); each ρ is the largest in its
interval. The first interval contains the second, so the counts may decide which one is used. Limits
of the second are taken at 0.9 of the chance to miss. Without this factor, exact sums show that it
misses up to 1.01 times as often as it may, for supports of opposite skew. With the factor it never
misses more often, even if all devices answer in both periods with opposite values (tails from 0.1
to 5e-6).

The distances of two means are combined in the same way, with r = 0, if no device reports twice and
each distance is within 5 % of what the normal law gives. Limits of a mean have no counts on two
sides. Their distance shows instead whether many reports decide it: `score_limits` adds to it the
skew of few.

Sources: Zou and Donner 2008 (distances of limits); Newcombe 1998;
docs/mathematics/intervals.md, Differences of two periods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_estimators.inference.channel import Channel, Counts, Floats
from deniable_estimators.inference.debias import Estimate, tail_of
from deniable_estimators.inference.intervals import clopper_pearson
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from deniable_estimators.inference.clusters import Clusters
    from deniable_estimators.inference.protocols import Estimator
    from deniable_estimators.inference.quantities import Quantity
    from deniable_estimators.inference.significance import SupportEvidence

_Limits = tuple[Floats, Floats]

MANY = 1_000
"""Least devices on the rarer side of a count for adding distances as roots of squares."""

SURER = 0.9
"""Factor on the chance to miss of limits whose distances are added."""

NEAR = 0.25
"""Shares of supports further apart may have opposite skews, for which the sum is too small."""

NORMAL = 0.05
"""Largest relative error of the normal law for distances of a mean that are combined."""


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Raw, unbiased differences, NaN if a period has no reports, with limits in [−1, 1]."""

    values: Floats
    lower: Floats
    upper: Floats

    @property
    def changed(self) -> npt.NDArray[np.bool_]:
        """Where the interval excludes 0."""
        return (self.lower > 0) | (self.upper < 0)


@dataclass(frozen=True, slots=True, eq=False)
class PeriodEstimate:
    """The estimates of one period: once at the given confidence, once with half the misses.

    `hidden` says how reports of one device depend on each other, None if each sent only one.
    """

    estimate: Estimate
    cautious: Estimate
    hidden: Clusters | None
    once: bool

    @classmethod
    def of(
        cls,
        estimator: Estimator,
        tally: Counts,
        n: int,
        *,
        confidence: float,
        epochs: int,
        family: str,
    ) -> PeriodEstimate:
        """Estimate the labels of one period.

        Raises ParameterError if the estimator has no labels.
        """
        if estimator.estimand != "labels":
            raise ParameterError(f"only labels can be compared, and these are {estimator.estimand}")

        def at(sure: float, spread: int = epochs) -> Estimate:
            return estimator.estimate(tally, n, confidence=sure, epochs=spread, family=family)

        once, hidden = estimator.repeat == "once", None
        if not once:
            evidence = at(confidence, max(epochs, 2)).evidence
            hidden = None if evidence is None else evidence.clusters
            if hidden is not None and epochs == 1:
                hidden = replace(hidden, size=type(hidden.size)(1))
        return cls(at(confidence), at(halved_miss_confidence(confidence)), hidden, once)

    @property
    def devices(self) -> Floats:
        """A lower bound of the devices on the rarer side of each count."""
        evidence = self.estimate.evidence
        if evidence is None:
            return np.zeros(len(self.estimate.frequencies))
        rare = np.minimum(evidence.counts, evidence.trials - evidence.counts)
        return np.asarray(rare / (1.0 if self.hidden is None else float(self.hidden.size)))

    @property
    def supported(self) -> Floats:
        """The share of supports among the reports about each label; NaN without any."""
        evidence = self.estimate.evidence
        if evidence is None:
            return np.full(len(self.estimate.frequencies), math.nan)
        with np.errstate(invalid="ignore"):
            return np.asarray(evidence.counts / evidence.trials)

    @property
    def evidence(self) -> tuple[Channel, SupportEvidence] | None:
        """The data behind its limits; None if frequencies are not those of the counts."""
        channel, evidence = self.estimate.channel, self.estimate.evidence
        if channel is None or evidence is None or (self.hidden is None and not self.once):
            return None
        plain = channel.frequencies(evidence.counts, evidence.trials)
        same = np.array_equal(plain, self.estimate.frequencies, equal_nan=True)
        return (channel, evidence) if same else None

    def limits(self, channel: Channel, evidence: SupportEvidence) -> tuple[Floats, Floats]:
        """Return limits of the frequencies, not clipped to [0, 1], for labels with reports."""
        of = self.estimate
        tail = SURER * tail_of(of.confidence, of.family, len(evidence.counts))
        some = np.maximum(evidence.trials, 1)
        find = clopper_pearson if evidence.clusters is None else evidence.clusters.limits
        lower, upper = find(np.minimum(evidence.counts, some), some, tail)
        return channel.frequency_of(lower), channel.frequency_of(upper)

    def in_common(self, lower: Floats, upper: Floats) -> Floats:
        """Ρ: the largest share of the variance that hidden bits can cause within these limits."""
        channel = self.estimate.channel
        if self.hidden is None or channel is None:
            return np.zeros(len(lower))
        low, high, size = map(float, (self.hidden.low, self.hidden.high, self.hidden.size))
        without, within = low * (1 - low), high * (1 - high)
        worst = math.sqrt(without) / (math.sqrt(without) + math.sqrt(within))
        supports = [float(channel.q) + float(channel.gap) * each for each in (lower, upper)]
        ends = [np.clip((each - low) / (high - low), 0.0, 1.0) for each in supports]
        bit = np.clip(worst, ends[0], ends[1])
        shared = size * (high - low) ** 2 * bit * (1 - bit)
        share: Floats = shared / (shared + (1 - bit) * without + bit * within)
        return share


def halved_miss_confidence(confidence: float) -> float:
    """Return the confidence of intervals that miss half as often."""
    return 1 - (1 - confidence) / 2


def cautious_confidence(confidence: float) -> float:
    """Return the confidence of limits whose distances are combined as roots of squares."""
    return 1 - SURER * (1 - confidence)


def independent_mean_difference(
    before: Quantity, after: Quantity, *, confidence: float
) -> tuple[float, float] | None:
    """Return limits of `after` minus `before`, for means of reports of different devices.

    The limits of both are those at `cautious_confidence(confidence)`. None if a distance is not
    about that of the normal law: then use intervals that miss half as often.
    """
    z = NormalDist().inv_cdf((1 + cautious_confidence(confidence)) / 2)
    if not (_is_normal(before, z) and _is_normal(after, z)):
        return None
    middle = after.value - before.value
    down = math.hypot(after.value - after.lower, before.upper - before.value)
    up = math.hypot(after.upper - after.value, before.value - before.lower)
    return middle - down, middle + up


def _is_normal(mean: Quantity, z: float) -> bool:
    """Whether both limits are about z standard errors away; never without reports."""
    usual = z * mean.std_error
    distances = (mean.value - mean.lower, mean.upper - mean.value)
    return all(abs(each - usual) <= NORMAL * usual for each in distances)


def difference(before: PeriodEstimate, after: PeriodEstimate) -> Differences:
    """Return `after` minus `before`, label by label."""
    wide = difference_without_independence(before.cautious, after.cautious)
    one, other = before.evidence, after.evidence
    if one is None or other is None:
        return wide
    lower, upper = _added(before, after, before.limits(*one), after.limits(*other))
    near = np.abs(after.supported - before.supported) <= NEAR
    many = (before.devices >= MANY) & (after.devices >= MANY) & near
    return Differences(
        wide.values,
        np.where(many, lower, wide.lower),
        np.where(many, upper, wide.upper),
    )


def difference_without_independence(before: Estimate, after: Estimate) -> Differences:
    """Return `after` minus `before` under any dependence; see `halved_miss_confidence`."""
    return Differences(
        after.frequencies - before.frequencies,
        after.lower - before.upper,
        after.upper - before.lower,
    )


def _added(
    before: PeriodEstimate, after: PeriodEstimate, of_before: _Limits, of_after: _Limits
) -> tuple[Floats, Floats]:
    """Return limits from distances as roots of squares, clipped to [−1, 1]."""
    (low_1, high_1), (low_2, high_2) = of_before, of_after
    first, second = before.estimate.frequencies, after.estimate.frequencies
    together = np.sqrt(before.in_common(low_1, high_1) * after.in_common(low_2, high_2))
    middle = second - first
    down = _joined(second - low_2, high_1 - first, together)
    up = _joined(high_2 - second, first - low_1, together)
    return np.clip(middle - down, -1.0, 1.0), np.clip(middle + up, -1.0, 1.0)


def _joined(one: Floats, other: Floats, together: Floats) -> Floats:
    """Return √(a² + b² + 2r·a·b)."""
    length: Floats = np.sqrt(one * one + other * other + 2 * together * one * other)
    return length
