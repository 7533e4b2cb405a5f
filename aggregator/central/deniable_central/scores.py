"""Scores: one integer for each candidate, or real numbers rounded down to a declared grid.

Exact draws need integers, so a float is never accepted as a score. For real numbers, declare a grid
whose step is a power of two. Division by it and the floor are exact in floats, and it is known by
how many steps one row can move a rounded score (`PrivacyParameters.decay`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable_central.errors import ScoresError

Integers = npt.NDArray[np.int64]
_LARGEST_LEVEL = 2.0**62
_LARGEST_STEP_POWER = 62


@dataclass(frozen=True, slots=True)
class GridScores:
    """Real scores as whole numbers of steps: score − step < levels · step ≤ score."""

    levels: Integers
    step: Fraction


Scores = npt.NDArray[np.integer] | Sequence[int] | GridScores


def on_grid(values: npt.ArrayLike, *, step: Fraction | int) -> GridScores:
    """Round real scores down to multiples of `step`, a power of two. Raises ScoresError for NaN.

    Scores beyond ±2^62 steps are clipped there, which keeps every sensitivity.
    """
    step = Fraction(step)
    power = step.numerator.bit_length() - step.denominator.bit_length()
    if abs(power) > _LARGEST_STEP_POWER or step != Fraction(2) ** power:
        raise ScoresError(
            f"step must be a power of two within 2^±62, like 1/128, got {step}; "
            "to keep two decimals, multiply by 100, round, and pass integers"
        )
    real = np.asarray(values, dtype=np.float64)
    if np.isnan(real).any():
        raise ScoresError("scores must be numbers, got NaN among them")
    steps = np.floor(np.ldexp(np.clip(real, -(2.0**500), 2.0**500), -power))
    return GridScores(np.clip(steps, -_LARGEST_LEVEL, _LARGEST_LEVEL).astype(np.int64), step)


def checked_scores(scores: Scores) -> tuple[Integers, Fraction | None]:
    """Return the scores, int64[candidates], and the step of their grid.

    Raises ScoresError if they are not exact; it depends on type and shape, never on a value.
    """
    if isinstance(scores, GridScores):
        return _vector(scores.levels), scores.step
    array = np.asarray(scores)
    if array.dtype != np.int64:
        array = _widened(array)
    return _vector(array), None


def _widened(array: npt.NDArray[np.generic]) -> Integers:
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ScoresError(
            f"scores must be integers, got {array.dtype.name}: pass integers of 64 bits, or "
            "on_grid(scores, step=Fraction(1, 128)) for real numbers"
        )
    if array.dtype == np.uint64:
        raise ScoresError("scores must fit in 64 bits with a sign, got uint64: use int64")
    return array.astype(np.int64)


def _vector(array: npt.NDArray[np.int64]) -> Integers:
    if array.ndim != 1 or not len(array):
        raise ScoresError(f"scores must be one vector of at least 1 candidate, got {array.shape}")
    return array
