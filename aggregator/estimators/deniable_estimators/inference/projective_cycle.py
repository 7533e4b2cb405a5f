"""The point of a projective space, and the value, at each turn of the circle.

Turn i of α, a root of x^t − Σ c_j x^j, is the point (s_i, …, s_{i+t−1}) of the sequence s of
`recurrences` and the value v with Σ_j v_j·α^j = α^i, up to factors; the digits of that value are
v_{t−1−k} = s_{i+k} − Σ_{j<k} c_{t−k+j}·s_{i+j}. So the sequence is enough.

Source: docs/mathematics/designs.md, Projective digits.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_shared.algebra.finite_fields import finite_field
from deniable_shared.algebra.inner_products import logarithms
from deniable_shared.algebra.recurrences import (
    point_count,
    primitive_recurrence,
    recurrence_sequence,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_Numbers = npt.NDArray[np.int64]


@lru_cache(maxsize=2)
def cycle_points(q: int, t: int) -> tuple[_Numbers, _Numbers]:
    """Return the point and the value of every turn, int64[K] each."""
    size, vectors, recurrence = point_count(q, t), _Vectors(q), primitive_recurrence(q, t)
    terms = np.asarray(memoryview(recurrence_sequence(q, t, size + t - 1)), dtype=np.int64)
    windows = [terms[j : j + size] for j in range(t)]
    less = [vectors.minus(c) for c in recurrence]
    values = [
        vectors.sum(windows[k], [(less[t - k + j], windows[j]) for j in range(k)])
        for k in reversed(range(t))
    ]
    return vectors.points(windows), vectors.values(values)


class _Vectors:
    """Many vectors over F_q at once, with an array for each coordinate."""

    def __init__(self, q: int) -> None:
        self._field = finite_field(q)
        powers, logs = logarithms(self._field)
        self._powers, self._logs = np.array(powers), np.array(logs)

    def minus(self, element: int) -> int:
        """Return the negative of an element."""
        return self._field.multiply(self._field.p - 1, element)

    def sum(self, start: _Numbers, parts: Sequence[tuple[int, _Numbers]]) -> _Numbers:
        """Return start + Σ factor·elements."""
        for factor, elements in parts:
            if factor:
                start = self._added(start, self._scaled(elements, self._logs[factor]))
        return start

    def _scaled(self, elements: _Numbers, log: _Numbers) -> _Numbers:
        scaled: _Numbers = self._powers[self._logs[elements] + log]
        return scaled

    def _added(self, one: _Numbers, other: _Numbers) -> _Numbers:
        """Return the sum, digit by digit in base p."""
        p, weight, total = self._field.p, 1, np.zeros_like(one)
        while weight < self._field.q:
            total += (one // weight + other // weight) % p * weight
            weight *= p
        return total

    def points(self, coordinates: Sequence[_Numbers]) -> _Numbers:
        """Return the points of which they are multiples: first digit 1."""
        q, t = self._field.q, len(coordinates)
        led = self._number(coordinates, _last_unlike_zero(coordinates[::-1]), 1)
        before = [point_count(q, place) for place in range(t)]
        powers = [q**place for place in range(t)]
        digits = np.searchsorted(powers, led, side="right") - 1
        ranks: _Numbers = led - np.take(powers, digits) + np.take(before, digits)
        return ranks

    def values(self, coordinates: Sequence[_Numbers]) -> _Numbers:
        """Return the values of which they are multiples: −1 at the place, and zeros behind it."""
        q, t = self._field.q, len(coordinates)
        numbers = self._number(coordinates, _last_unlike_zero(coordinates), self.minus(1))
        starts = [0, *accumulate(q**place for place in range(t - 1, 0, -1))]
        values = np.empty_like(numbers)
        for behind in range(t):
            here = numbers % q**behind == 0
            values[here] = numbers[here] // q ** (behind + 1) + starts[behind]
        return values

    def _number(self, coordinates: Sequence[_Numbers], unit: _Numbers, becomes: int) -> _Numbers:
        """Coordinates as digits of one number, scaled so that `unit` becomes that element."""
        log = (self._logs[becomes] - self._logs[unit]) % (self._field.q - 1)
        number = np.zeros_like(unit)
        for elements in coordinates:
            number = number * self._field.q + self._scaled(elements, log)
        return number


def _last_unlike_zero(coordinates: Sequence[_Numbers]) -> _Numbers:
    last = coordinates[0]
    for elements in coordinates[1:]:
        last = np.where(elements == 0, last, elements)
    return last
