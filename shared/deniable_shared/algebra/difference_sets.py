"""Singer's difference sets: w places on a circle of K, each distance between two of them λ times.

    K = (q^t − 1)/(q − 1)      w = (q^(t−1) − 1)/(q − 1)      λ = (q^(t−2) − 1)/(q − 1)

They are where the sequence over F_q of `recurrences` is 0, among its first K terms.
Source: Singer 1938; docs/mathematics/designs.md, Difference sets.
"""

from __future__ import annotations

from array import array
from functools import lru_cache
from itertools import compress

from deniable_shared.algebra.recurrences import (
    point_count,
    recurrence_sequence,
)
from deniable_shared.errors import ParameterError

_IS_ZERO = bytes([1, *[0] * 255])


def hyperplane_size(q: int, t: int) -> int:
    """Return w, the number of points of a hyperplane."""
    return point_count(q, t - 1)


@lru_cache(maxsize=16)
def difference_set(q: int, t: int) -> array[int]:
    """Return the w places in rising order, int[w].

    Raises ParameterError unless F_q is known and t ≥ 2.
    """
    if t < 2:
        raise ParameterError(f"dimension must be at least 2, got {t}")
    if t == 2:
        return array("I", [0])
    terms = recurrence_sequence(q, t, point_count(q, t))
    zeros = terms.translate(_IS_ZERO) if isinstance(terms, bytes) else map((0).__eq__, terms)
    return array("I", compress(range(len(terms)), zeros))
