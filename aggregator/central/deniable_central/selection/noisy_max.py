"""Report noisy max: adds noise to every score, and releases only the index of the largest.

    geometric     the integer twin of Laplace noise of scale D/ε     ε-DP
    exponential   the law of permute-and-flip                        ε-DP
    gumbel        the law of the exponential mechanism               ε-DP and ε-bounded-range

D = 2Δ, or Δ for scores that all move in the same direction under add/remove. The noisy score itself
is not released: it would need its own budget.

Source: docs/mathematics/selection.md, Noisy maxima.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from deniable_central.guarantee import Guarantee
from deniable_central.release import Release
from deniable_central.samplers.noise import two_sided_geometric
from deniable_central.scores import Integers, Scores, checked_scores
from deniable_central.selection.accuracy import CONFIDENCE, geometric_tail_length, selection_bar
from deniable_central.selection.exact_pmf import noisy_max_pmf
from deniable_central.selection.exponential import Exponential
from deniable_central.selection.permute_and_flip import PermuteAndFlip
from deniable_central.selection.privacy_parameters import (
    Epsilon,
    PrivacyParameters,
    Sensitivity,
    privacy_parameters,
)
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from fractions import Fraction

    from deniable_central.pmf import Pmf

_OUT_OF_REACH = np.uint64(1 << 62)  # noise stays below 2^60, so nothing deeper can come first


class NoiseDistribution(StrEnum):
    """The noise on every score."""

    GEOMETRIC = "geometric"
    EXPONENTIAL = "exponential"
    GUMBEL = "gumbel"


@dataclass(frozen=True, slots=True)
class NoisyMax:
    """The mechanism without scores: `guarantee` is its cost."""

    privacy: PrivacyParameters
    noise: NoiseDistribution

    @property
    def law(self) -> str:
        return f"{self.noise} noisy max"

    @property
    def guarantee(self) -> Guarantee:
        of = Guarantee.bounded_range if self.noise is NoiseDistribution.GUMBEL else Guarantee.pure
        return of(self.privacy.epsilon, self.privacy.adjacency)

    def release(self, scores: Scores, coins: Coins | None = None) -> Release[int]:
        """Return the index of one candidate, its guarantee and its error bar."""
        twin = self._twin()
        if twin is not None:
            return replace(twin.release(scores, coins), law=self.law)
        levels, step = checked_scores(scores)
        decay = self.privacy.decay(step)
        index = _largest(levels, decay, coins or Coins.system())
        odds = len(levels) / (1 - CONFIDENCE)
        bar = selection_bar(geometric_tail_length(decay, odds), step)
        return Release(index, self.law, self.guarantee, (bar,))

    def pmf(self, scores: Scores) -> Pmf[int]:
        """The certified probability of every candidate: a function of the data, not for release."""
        twin = self._twin()
        if twin is not None:
            return twin.pmf(scores)
        levels, step = checked_scores(scores)
        return noisy_max_pmf(levels, self.privacy.decay(step))

    def _twin(self) -> Exponential | PermuteAndFlip | None:
        """Return the mechanism that draws the same law without noise, if there is one."""
        if self.noise is NoiseDistribution.GUMBEL:
            return Exponential(self.privacy)
        return PermuteAndFlip(self.privacy) if self.noise is NoiseDistribution.EXPONENTIAL else None


def _largest(levels: Integers, decay: Fraction, coins: Coins) -> int:
    """The place of the largest noisy score, uniform among ties; no work depends on a score."""
    depths = np.subtract(levels.max(), levels).view(np.uint64)
    noisy = two_sided_geometric(decay, len(levels), coins)
    noisy -= np.minimum(depths, _OUT_OF_REACH).view(np.int64)
    ties = np.flatnonzero(noisy == noisy.max())
    return int(ties[coins.below(len(ties))])


def noisy_max(  # noqa: PLR0913  (published: notebooks call it)
    scores: Scores,
    *,
    epsilon: Epsilon,
    noise: str,
    sensitivity: Sensitivity | None = None,
    range_sensitivity: Sensitivity | None = None,
    monotone: bool = False,
    adjacency: str = "replace",
) -> Release[int]:
    """Release the index of the largest noisy score, ε-DP; other arguments as in `exponential`."""
    privacy = privacy_parameters(
        epsilon=epsilon,
        sensitivity=sensitivity,
        range_sensitivity=range_sensitivity,
        monotone=monotone,
        adjacency=adjacency,
    )
    return NoisyMax(privacy, _parse_noise(noise)).release(scores)


def _parse_noise(value: str) -> NoiseDistribution:
    try:
        return NoiseDistribution(value)
    except ValueError:
        raise ParameterError(
            'noise must be "geometric" (the integer twin of Laplace noise), "exponential" or '
            f'"gumbel", got {value!r}'
        ) from None
