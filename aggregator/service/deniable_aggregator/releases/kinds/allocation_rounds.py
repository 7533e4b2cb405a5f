"""Rounds of an allocation: the noisy counts of an epoch each, and how far off their average may be.

    share      f̂ = (c + N − n·μ(0))/(n·gain) of each label, weight 1/(n·gain) of one count
    average    (1/m)·Σ f̂_t: a normal of the local variance, and Σ N_t·weight_t/m taken for one
               Laplace noise of rate decay/√Σ(weight_t/m)², whose variance is not smaller and whose
               tail of 5% lies farther out

Its limits are those of a `NoisyFrequency`. Devices that answer once are independent from round to
round. The spread of others is taken for largest, as if they erred alike in all rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from deniable_aggregator.releases.kinds.confidence_limits import NoisyFrequency
from deniable_aggregator.releases.kinds.error_bars import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from deniable_aggregator.releases.kinds.contract import Counts
    from deniable_aggregator.releases.kinds.label_counts import LabelCounts
    from deniable_estimators.inference.channel import Floats


@dataclass(frozen=True, slots=True, eq=False)
class DemandRound:
    """The noisy label counts of one epoch, and shares computed from them."""

    epoch: int
    label_counts: LabelCounts
    noisy: Counts

    @property
    def shares(self) -> Floats:
        """Unbiased, of all labels."""
        return self.label_counts.frequencies(self.noisy)

    def variance(self, shares: Floats) -> Floats:
        """The variance at these shares, from the devices' noise and from sampling people."""
        return self.label_counts.variance(shares) * self.weight**2

    @property
    def weight(self) -> float:
        """The share that one unit of a count is."""
        return 1 / float(self.label_counts.context.n * self.label_counts.gain)


def limits(rounds: Sequence[DemandRound], decay: Fraction, *, alone: bool) -> tuple[Floats, Floats]:
    """Limits of the average share of each label; `alone`: no device answers in two rounds."""
    mechanism, many = rounds[0].label_counts.context.mechanism, len(rounds)
    weights = np.array([epoch_round.weight for epoch_round in rounds]) / many
    return NoisyFrequency(
        p=float(mechanism.p),
        q=float(mechanism.q),
        variance=partial(_variance_of_average, rounds, alone),
        rate=float(decay) / float(np.sqrt((weights**2).sum())),
        step=rounds[0].label_counts.messages.unit * float(weights.sum()),
    ).limits(np.mean([epoch_round.shares for epoch_round in rounds], axis=0), CONFIDENCE)


def _variance_of_average(rounds: Sequence[DemandRound], alone: bool, shares: Floats) -> Floats:
    variances = np.array([epoch_round.variance(shares) for epoch_round in rounds])
    total = variances.sum(axis=0) if alone else np.sqrt(variances).sum(axis=0) ** 2
    return np.asarray(total / len(rounds) ** 2)
