"""Base measures: public positive weights of the candidates, as exact integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable_central.errors import ScoresError
from deniable_central.scores import Integers

BaseMeasure = npt.NDArray[np.integer] | Sequence[int] | Sequence[Fraction]

_LARGEST = (1 << 63) - 1


def checked_measure(measure: BaseMeasure) -> Integers:
    """The measure as integers of the same proportions; ScoresError unless exact and positive.

    Rationals are multiplied by their common denominator.
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


def _common(values: list[int] | list[Fraction]) -> npt.NDArray[np.generic]:
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
