"""Rounds of an allocation: the noisy counts of an epoch each, and how far off their average may be.

    share      f̂ = (c + N − n·μ(0))/(n·gain) of each label, weight 1/(n·gain) of one reading
    average    (1/m)·Σ f̂_t: a normal of the local variance, and Σ N_t·weight_t/m taken for one
               Laplace noise of rate decay/√Σ(weight_t/m)², whose variance is not smaller and whose
               tail of 5% lies farther out

Devices that answer once are independent from round to round. Of others the spread is taken for
largest, as if they erred alike in all rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from deniable_aggregator.central.aggregate.bars import CONFIDENCE, combined_half_widths
from deniable_aggregator.central.aggregate.contract import Counts
from deniable_aggregator.central.aggregate.readings import Readings
from deniable_aggregator.estimate.channel import Floats
from deniable_aggregator.estimate.projection import onto_box

__all__ = ["Round", "half_widths"]


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """The noisy readings of one epoch, and what they say."""

    epoch: int
    readings: Readings
    noisy: Counts

    @property
    def shares(self) -> Floats:
        """Unbiased, of all labels."""
        return self.readings.frequencies(self.noisy)

    @property
    def variance(self) -> Floats:
        """Of each share, by the devices' noise and by who happened to answer."""
        return self.readings.variance(onto_box(self.shares)) * self.weight**2

    @property
    def weight(self) -> float:
        """What one unit of a reading is as a share."""
        return 1 / float(self.readings.facts.n * self.readings.gain)


def half_widths(rounds: Sequence[Round], decay: Fraction, *, alone: bool) -> Floats:
    """Of the average share of each label; `alone`: no device answers in two rounds."""
    variances, many = np.array([round.variance for round in rounds]), len(rounds)
    weights = np.array([round.weight for round in rounds]) / many
    total = variances.sum(axis=0) if alone else np.sqrt(variances).sum(axis=0) ** 2
    rate = decay / Fraction(float(np.sqrt((weights**2).sum())))
    widths = combined_half_widths(total / many**2, rate, CONFIDENCE)
    return np.asarray(widths + rounds[0].readings.messages.unit * weights.sum() / 2)
