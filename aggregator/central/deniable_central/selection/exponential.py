"""The exponential mechanism: candidate r with probability ∝ μ_r · e^(ε · score_r/D), exactly.

It is ε-DP and ε-bounded-range for the range sensitivity D and every public measure μ, and this is
tight. Its zCDP is about a quarter of another ε-DP release's, so use it for composition. Gumbel
noise of scale D/ε and the largest score give the same law (`noisy_max`).

McSherry, Talwar 2007; Durfee, Rogers 2019 (bounded range).

A base measure is a public positive weight for each candidate, as exact integers.

Source: docs/mathematics/selection.md, The exponential mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from deniable_central.errors import ScoresError
from deniable_central.guarantee import Guarantee
from deniable_central.release import ErrorBar, Release
from deniable_central.samplers.exponential import Weights, draw_index
from deniable_central.scores import Integers, Scores, checked_scores
from deniable_central.selection.accuracy import CONFIDENCE, selection_bar, tail_length
from deniable_central.selection.exact_pmf import exponential_pmf
from deniable_central.selection.privacy_parameters import (
    Epsilon,
    PrivacyParameters,
    Sensitivity,
    privacy_parameters,
)
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from deniable_central.pmf import Pmf

BaseMeasure = npt.NDArray[np.integer] | Sequence[int] | Sequence[Fraction]

_LARGEST = (1 << 63) - 1


def checked_measure(measure: BaseMeasure) -> Integers:
    """Return the measure as integers of the same proportions.

    Rationals are multiplied by their common denominator. Raises ScoresError unless exact and
    positive.
    """
    array = np.asarray(measure)
    if array.dtype == object:
        array = _common(list(measure))
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer) or array.dtype == np.uint64:
        raise ScoresError(
            "base_measure must be one vector of int64 or of Fractions, "
            f"got {array.dtype} of shape {array.shape}: scale it to whole numbers"
        )
    if not len(array) or array.min() < 1:
        raise ScoresError(
            "base_measure must be positive everywhere, got one of 0 or less: "
            "leave those candidates out, they can never be drawn"
        )
    return array.astype(np.int64)


def _common(values: Sequence[int | Fraction]) -> npt.NDArray[np.generic]:
    if not all(isinstance(value, int | Fraction) for value in values):
        raise ScoresError("base_measure must hold integers or Fractions")
    denominator = math.lcm(*(Fraction(value).denominator for value in values))
    whole = [int(value * denominator) for value in values]
    if max(whole) > _LARGEST:
        raise ScoresError(
            "base_measure must fit in 63 bits once on a common denominator, "
            f"got {max(whole).bit_length()} bits: use coarser weights"
        )
    return np.array(whole, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Exponential:
    """The mechanism without scores: `guarantee` is its cost. Built by `of`."""

    law: ClassVar[str] = "exponential mechanism"
    privacy: PrivacyParameters
    measure: Integers | None = None

    @classmethod
    def of(cls, privacy: PrivacyParameters, base_measure: BaseMeasure | None = None) -> Exponential:
        return cls(privacy, None if base_measure is None else checked_measure(base_measure))

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.bounded_range(self.privacy.epsilon, self.privacy.adjacency)

    def release(self, scores: Scores, coins: Coins | None = None) -> Release[int]:
        """Return the index of one candidate, its guarantee and its error bar."""
        weights, step = self._weights(scores)
        index = draw_index(weights, coins or Coins.system())
        return Release(index, self.law, self.guarantee, (self._bar(len(weights.scores), step),))

    def pmf(self, scores: Scores) -> Pmf[int]:
        """The certified probability of every candidate: a function of the data, not for release."""
        return exponential_pmf(self._weights(scores)[0])

    def poisoning_radius(self, scores: Scores) -> int:
        """Return how many rows may be arbitrary without changing which candidate is most likely.

        Each row moves the log-odds of two candidates by at most ε, so K = ⌈ln(p1/p2)/ε⌉ − 1, and 0
        for a tie of the two most likely. With a measure, it is one less if ln(p1/p2)/ε is within
        10^−9 of a whole number. It is a function of the raw scores: for their owner, not for
        release.
        """
        weights, _ = self._weights(scores)
        if len(weights.scores) < 2:
            raise ScoresError("a poisoning radius needs at least 2 candidates, got 1")
        epsilon = self.privacy.epsilon
        if weights.measure is not None:
            return _radius(_log_odds(weights, weights.measure) / float(epsilon) - 1e-9)
        second, first = np.partition(weights.scores, -2)[-2:].tolist()
        return _radius(weights.decay * (int(first) - int(second)) / epsilon)

    def _weights(self, scores: Scores) -> tuple[Weights, Fraction | None]:
        levels, step = checked_scores(scores)
        if self.measure is not None and len(self.measure) != len(levels):
            raise ScoresError(
                f"base_measure must weigh each of the {len(levels)} candidates, "
                f"got {len(self.measure)} weights"
            )
        return Weights(levels, self.privacy.decay(step), self.measure), step

    def _bar(self, candidates: int, step: Fraction | None) -> ErrorBar:
        if self.measure is None:
            odds = float(candidates)
        else:
            odds = math.fsum(self.measure.tolist()) / float(self.measure.min())
        return selection_bar(tail_length(self.privacy.decay(step), odds / (1 - CONFIDENCE)), step)


def exponential(  # noqa: PLR0913  (published: notebooks call it)
    scores: Scores,
    *,
    epsilon: Epsilon,
    sensitivity: Sensitivity | None = None,
    range_sensitivity: Sensitivity | None = None,
    monotone: bool = False,
    adjacency: str = "replace",
    base_measure: BaseMeasure | None = None,
) -> Release[int]:
    """Release the index of a candidate of high score, ε-DP for the whole release.

    scores: int[candidates], or `on_grid(…)` for real numbers. Give exactly one of two
    sensitivities. `sensitivity` Δ is how far one row moves a score (weight e^(εs/2Δ); e^(εs/Δ) if
    all scores move in the same direction, `monotone`, under add/remove). `range_sensitivity` D is
    how far one row moves two scores apart (weight e^(εs/D)). Raises ScoresError, SensitivityError
    or AdjacencyError.
    """
    privacy = privacy_parameters(
        epsilon=epsilon,
        sensitivity=sensitivity,
        range_sensitivity=range_sensitivity,
        monotone=monotone,
        adjacency=adjacency,
    )
    return Exponential.of(privacy, base_measure).release(scores)


def _log_odds(weights: Weights, measure: Integers) -> float:
    """Return ln(p1/p2) of the two most likely candidates."""
    odds = float(weights.decay) * weights.scores.astype(np.float64) + np.log(measure)
    second, first = np.sort(odds)[-2:].tolist()
    return float(first - second)


def _radius(rows: Fraction | float) -> int:
    return max(math.ceil(rows) - 1, 0)
