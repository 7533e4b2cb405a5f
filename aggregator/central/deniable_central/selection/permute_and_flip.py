"""Permute-and-flip: better than the exponential mechanism for a single release under pure ε.

Its expected error is never above the exponential mechanism's at the same ε, and down to half of it.
But it is not of bounded range, so its zCDP is that of any ε-DP release: use `exponential` for
composition. Exponential noise of scale D/ε and the largest score give the same law.

McKenna, Sheldon 2020; Ding et al. 2021 (exponential noise).
Source: docs/mathematics/selection.md, Noisy maxima.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from deniable_central.guarantee import Guarantee
from deniable_central.release import Release
from deniable_central.samplers.permute_and_flip import draw_among_heads
from deniable_central.scores import Scores, checked_scores
from deniable_central.selection.accuracy import CONFIDENCE, selection_bar, tail_length
from deniable_central.selection.exact_pmf import permute_and_flip_pmf
from deniable_central.selection.privacy_parameters import (
    Epsilon,
    PrivacyParameters,
    Sensitivity,
    privacy_parameters,
)
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from deniable_central.pmf import Pmf


@dataclass(frozen=True, slots=True)
class PermuteAndFlip:
    """The mechanism without scores: `guarantee` is its cost."""

    law: ClassVar[str] = "permute-and-flip"
    privacy: PrivacyParameters

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.pure(self.privacy.epsilon, self.privacy.adjacency)

    def release(self, scores: Scores, coins: Coins | None = None) -> Release[int]:
        """Return the index of one candidate, its guarantee and its error bar."""
        levels, step = checked_scores(scores)
        decay = self.privacy.decay(step)
        index = draw_among_heads(levels, decay, coins or Coins.system())
        # a candidate this far below can win only if its own coin shows heads
        bar = selection_bar(tail_length(decay, len(levels) / (1 - CONFIDENCE)), step)
        return Release(index, self.law, self.guarantee, (bar,))

    def pmf(self, scores: Scores) -> Pmf[int]:
        """The certified probability of every candidate: a function of the data, not for release."""
        levels, step = checked_scores(scores)
        return permute_and_flip_pmf(levels, self.privacy.decay(step))


def permute_and_flip(
    scores: Scores,
    *,
    epsilon: Epsilon,
    sensitivity: Sensitivity | None = None,
    range_sensitivity: Sensitivity | None = None,
    monotone: bool = False,
    adjacency: str = "replace",
) -> Release[int]:
    """Release the index of a candidate of high score, ε-DP; arguments as in `exponential`."""
    privacy = privacy_parameters(
        epsilon=epsilon,
        sensitivity=sensitivity,
        range_sensitivity=range_sensitivity,
        monotone=monotone,
        adjacency=adjacency,
    )
    return PermuteAndFlip(privacy).release(scores)
