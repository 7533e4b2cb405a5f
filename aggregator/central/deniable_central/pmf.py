"""Pmf: the probability of every outcome of a mechanism, enclosed between two rationals.

It is a function of the data, so it is never part of a release. Tests compare draws with it, and
owners of data use it for planning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from fractions import Fraction

Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class Pmf(Generic[Outcome]):
    """lower ≤ Pr[outcome] ≤ upper, in the order of `outcomes`; equal if the law is rational."""

    outcomes: tuple[Outcome, ...]
    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not len(self.outcomes) == len(self.lower) == len(self.upper):
            raise ParameterError(
                f"a pmf must bound each of its {len(self.outcomes)} outcomes, "
                f"got {len(self.lower)} lower and {len(self.upper)} upper bounds"
            )

    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """float64[outcomes]: the middles, which add up to 1 up to rounding."""
        pairs = zip(self.lower, self.upper, strict=True)
        return np.array([float((low + high) / 2) for low, high in pairs])
