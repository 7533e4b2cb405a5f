"""Top-k: k draws of the exponential mechanism at ε/k each, every one from the candidates left.

The law is the same as one round of Gumbel noise of scale kD/ε and the k largest. The whole is ε-DP.
Each draw is (ε/k)-bounded-range, so in zCDP it costs k times that draw's ρ: about ε²/8k.

Durfee, Rogers 2019.
Source: docs/mathematics/selection.md, Several candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_central.guarantee import Guarantee
from deniable_central.release import Release
from deniable_central.samplers.exponential import Weights, draw_index
from deniable_central.scores import Integers, Scores, checked_scores
from deniable_central.selection.accuracy import CONFIDENCE, selection_bar, tail_length
from deniable_central.selection.exact_pmf import top_k_pmf
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


@dataclass(frozen=True, slots=True)
class TopK:
    """The mechanism without scores: `guarantee` is the cost of all k draws together."""

    law: ClassVar[str] = "exponential mechanism, peeled"
    privacy: PrivacyParameters
    k: int

    def __post_init__(self) -> None:
        _check_picks(self.k)

    @property
    def guarantee(self) -> Guarantee:
        share = self.privacy.epsilon / self.k
        return Guarantee.bounded_range(share, self.privacy.adjacency, times=self.k)

    def release(self, scores: Scores, coins: Coins | None = None) -> Release[tuple[int, ...]]:
        """Return the indices of k candidates in the order drawn, the best one probably first."""
        levels, step = self._checked(scores)
        decay = self.privacy.share(self.k).decay(step)
        coins = coins or Coins.system()
        left, names = levels, np.arange(len(levels))
        picks: list[int] = []
        for _ in range(self.k):
            place = draw_index(Weights(left, decay), coins)
            picks.append(int(names[place]))
            left, names = np.delete(left, place), np.delete(names, place)
        odds = self.k * len(levels) / (1 - CONFIDENCE)  # all k bars hold at once
        bar = selection_bar(tail_length(decay, odds), step, "each score below the best then left")
        return Release(tuple(picks), self.law, self.guarantee, (bar,))

    def pmf(self, scores: Scores) -> Pmf[tuple[int, ...]]:
        """Return the certified probability of every order of k candidates: not for release."""
        levels, step = self._checked(scores)
        return top_k_pmf(Weights(levels, self.privacy.share(self.k).decay(step)), self.k)

    def _checked(self, scores: Scores) -> tuple[Integers, Fraction | None]:
        levels, step = checked_scores(scores)
        if self.k > len(levels):
            raise ParameterError(f"k must be at most the {len(levels)} candidates, got {self.k}")
        return levels, step


def _check_picks(k: object) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError(f"k must be a whole number of at least 1, got {k!r}")


def top_k(  # noqa: PLR0913  (published: notebooks call it)
    scores: Scores,
    k: int,
    *,
    epsilon: Epsilon,
    sensitivity: Sensitivity | None = None,
    range_sensitivity: Sensitivity | None = None,
    monotone: bool = False,
    adjacency: str = "replace",
) -> Release[tuple[int, ...]]:
    """Release k candidates of high score, ε-DP all together; arguments as in `exponential`."""
    privacy = privacy_parameters(
        epsilon=epsilon,
        sensitivity=sensitivity,
        range_sensitivity=range_sensitivity,
        monotone=monotone,
        adjacency=adjacency,
    )
    return TopK(privacy, k).release(scores)
