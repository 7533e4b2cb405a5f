"""Privacy parameters of a selection: ε, the sensitivity of the scores, and the decay.

    weight ∝ e^(decay · score)      decay = ε/D, D the range sensitivity
    D = max over neighbours of (max_r d_r − min_r d_r),   d_r = score_r − score'_r

    sensitivity Δ            |d_r| ≤ Δ                             D = 2Δ
    sensitivity Δ, monotone  add/remove, all d_r of one sign       D = Δ
    range sensitivity        the scores may move together          D as given

On a grid of step h a rounded score moves by up to ⌈Δ/h⌉ steps. Rounded scores may differ by one
step more than ⌈D/h⌉, as two scores that move alike can fall on different sides of a step.

Source: docs/mathematics/selection.md, The exponential mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from operator import index
from typing import Required, TypedDict

from deniable_central.errors import SensitivityError
from deniable_central.guarantee import Adjacency, parse_adjacency
from deniable_shared.randomness.dyadic import parse_epsilon

Epsilon = str | int | Fraction
Sensitivity = int | Fraction

SMALLEST_EPSILON = Fraction(1, 10**6)
SMALLEST_SENSITIVITY = Fraction(1, 1 << 62)
LARGEST_SENSITIVITY = Fraction(1 << 62)


class SelectionArguments(TypedDict, total=False):
    """The keyword arguments of every selection mechanism."""

    epsilon: Required[Epsilon]
    sensitivity: Sensitivity | None
    range_sensitivity: Sensitivity | None
    monotone: bool
    adjacency: str


class ScoreSensitivity(StrEnum):
    """How the given sensitivity limits the effect of one row on two scores."""

    PER_SCORE = "each score moves by at most this"
    MONOTONE = "each score moves by at most this, all of them the same way"
    RANGE = "any two scores move apart by at most this"


@dataclass(frozen=True, slots=True)
class PrivacyParameters:
    """ε of the whole release, and a sensitivity in units of the score."""

    epsilon: Fraction
    adjacency: Adjacency
    sensitivity: Fraction
    score_sensitivity: ScoreSensitivity

    def __post_init__(self) -> None:
        if self.epsilon <= 0:
            raise SensitivityError(f"epsilon must be positive, got {self.epsilon}")
        if not SMALLEST_SENSITIVITY <= self.sensitivity <= LARGEST_SENSITIVITY:
            raise SensitivityError(
                f"a sensitivity must lie in [2^-62, 2^62], got {float(self.sensitivity):.3g}"
            )

    def decay(self, step: Fraction | None = None) -> Fraction:
        """Return ε/D, with D in steps of the grid, or in units of the score without a grid."""
        if step is None:
            apart = self.sensitivity * (
                2 if self.score_sensitivity is ScoreSensitivity.PER_SCORE else 1
            )
            return self.epsilon / apart
        steps = math.ceil(self.sensitivity / step)
        apart_on = {
            ScoreSensitivity.PER_SCORE: 2 * steps,
            ScoreSensitivity.MONOTONE: steps,
            ScoreSensitivity.RANGE: steps + 1,
        }
        return self.epsilon / apart_on[self.score_sensitivity]

    def share(self, parts: int) -> PrivacyParameters:
        """Return the parameters at ε/parts, for one of several draws."""
        return replace(self, epsilon=self.epsilon / parts)


@lru_cache(maxsize=1024, typed=True)  # typed, so that 1.0 does not hit the cached 1
def privacy_parameters(
    *,
    epsilon: Epsilon,
    sensitivity: Sensitivity | None = None,
    range_sensitivity: Sensitivity | None = None,
    monotone: bool = False,
    adjacency: str = "replace",
) -> PrivacyParameters:
    """Return the parameters, read exactly: ε in [10^−6, 20], sensitivities as int or Fraction.

    Raises SensitivityError for both or neither, and for `monotone` where it has no effect.
    """
    neighbours = parse_adjacency(adjacency)
    kind, declared = _kind(sensitivity, range_sensitivity)
    if monotone:
        if kind is ScoreSensitivity.RANGE or neighbours is Adjacency.REPLACE:
            raise SensitivityError(
                'monotone halves the noise for sensitivity under adjacency "add/remove" only; '
                "under replace, or for scores that move together, declare range_sensitivity"
            )
        kind = ScoreSensitivity.MONOTONE
    exact = _exact(declared, "sensitivity" if range_sensitivity is None else "range_sensitivity")
    return PrivacyParameters(parse_epsilon(epsilon, low=SMALLEST_EPSILON), neighbours, exact, kind)


def _kind(
    each: Sensitivity | None, apart: Sensitivity | None
) -> tuple[ScoreSensitivity, Sensitivity]:
    if each is not None and apart is None:
        return ScoreSensitivity.PER_SCORE, each
    if apart is not None and each is None:
        return ScoreSensitivity.RANGE, apart
    raise SensitivityError(
        "exactly one of sensitivity (how far one row moves a score) and range_sensitivity (how far "
        f"one row moves two apart) must be given, got {'neither' if each is None else 'both'}"
    )


def _exact(value: Sensitivity, argument: str) -> Fraction:
    if isinstance(value, Fraction):
        return value
    try:
        return Fraction(index(value))
    except TypeError:
        raise SensitivityError(
            f"{argument} must be an int or a Fraction, got {type(value).__name__}: "
            "write 0.5 as Fraction(1, 2)"
        ) from None
