"""Projective designs: the geometry of `cyclic/1` by arithmetic, without a table, for more choices.

A number below q^t has t digits in base q, elements of F_q, the first most significant. Point y is
the number of rank y + 1 among those whose first nonzero digit is 1. A value is a place among the
digits and the digits before it. There are q^(t−1−k) values with k digits behind the place, those of
k = 0 first. x minus the number of values of a smaller k is the number x′ of its t − 1 − k digits.

    y supports x      if the digit of y at the place is Σ x′_i·h_i, h the digits of y before it

That digit is in no sum, so a device draws the others and solves for it. If y is to support x, it
draws one of the w numbers of t − 1 digits whose first nonzero digit is 1. Otherwise it draws one of
the q^(t−1) ways to have another digit there and 1 as the first nonzero one. There is no rejection
and no division: O(t). Law, ε, parameters and payload are those of `geometric`, for up to 2^22
codes. Sources: Feldman, Nelson, Nguyen, Talwar 2022; docs/mathematics/designs.md, Projective
digits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, product
from typing import TYPE_CHECKING, ClassVar

from deniable_shared.algebra.inner_products import inner_products
from deniable_shared.algebra.recurrences import point_count
from deniable_shared.mechanisms.geometric import GeometricResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LARGEST_CHUNK = 1024


@dataclass(frozen=True, slots=True)
class ProjectiveResponse(GeometricResponse):
    """d = `domain_size` choices among K numbered points."""

    id: ClassVar[str] = "projective/1"
    most_choices: ClassVar[int] = 1_000_000
    most_codes: ClassVar[int] = 1 << 22

    def _draw_code(self, index: int, inside: bool, near: int, far: int) -> int:
        numbers, q = _numbers(self.field_order, self.dimension), self.field_order
        gaps, ends = numbers.gaps, numbers.ends
        behind, first = numbers.families[bisect_right(numbers.starts, index) - 1]
        led = near + 1 + gaps[bisect_left(ends, near + 1)]
        rank, missing = divmod(far // behind + q - 2, q - 1)
        other = rank + gaps[bisect_left(ends, rank)]  # 0 has rank 0: then 1 is at the place
        head = (other, led // behind)[inside]
        tail = (far, led)[inside] % behind
        digit = numbers.digit(index - first, head, (q - 1 - missing, 0)[inside])
        number = (head * q + digit) * behind + tail
        return number - gaps[bisect_right(numbers.powers, number)] - 1

    def _supports_value(self, place: int, code: int, index: int) -> bool:
        numbers = _numbers(self.field_order, self.dimension)
        behind, first = numbers.families[bisect_right(numbers.starts, index) - 1]
        number = code + 1 + numbers.gaps[bisect_left(numbers.ends, code + 1)]
        head, digit = divmod(number // behind, self.field_order)
        return numbers.digit(index - first, head, 0) == digit


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Points and values of one space as numbers in base q."""

    q: int
    t: int
    powers: tuple[int, ...] = field(init=False)
    starts: tuple[int, ...] = field(init=False)
    """starts: int[t], the first value of each k."""
    families: tuple[tuple[int, int], ...] = field(init=False)
    """For each k, q^k and the first value."""
    ends: tuple[int, ...] = field(init=False)
    """The number of points with fewer digits, by the number of digits."""
    gaps: tuple[int, ...] = field(init=False)
    """Number minus rank of a number whose first digit is 1, by its digits; 0 has rank 0."""
    _sum: Callable[[int, Iterable[int], Iterable[int]], int] = field(init=False)
    _chunk: int = field(init=False)
    _chunks: int = field(init=False)
    _operands: tuple[tuple[int, ...], ...] = field(init=False)
    """The digits as operands, the last first, of each number of a few digits."""

    def __post_init__(self) -> None:
        q, t = self.q, self.t
        products, width = inner_products(q), 1
        while q ** (width + 1) <= _LARGEST_CHUNK:
            width += 1
        powers = tuple(q**place for place in range(t + 1))
        starts = (0, *accumulate(powers[t - 1 : 0 : -1]))
        gaps = (powers[place] - point_count(q, place) - 1 for place in range(t))
        object.__setattr__(self, "powers", powers)
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "families", tuple(zip(powers, starts, strict=False)))
        object.__setattr__(self, "ends", tuple(point_count(q, place) for place in range(t + 1)))
        object.__setattr__(self, "gaps", (0, *gaps))
        object.__setattr__(self, "_sum", products.of)
        object.__setattr__(self, "_chunk", q**width)
        object.__setattr__(self, "_chunks", -(-(t - 1) // width))
        chunks = product(range(q), repeat=width)
        operands = (products.operands(reversed(each)) for each in chunks)
        object.__setattr__(self, "_operands", tuple(operands))

    def digit(self, one: int, other: int, start: int) -> int:
        """Return `start` + Σ of the products of digits at the same place, in the field."""
        ones, others = self._operands[one % self._chunk], self._operands[other % self._chunk]
        for _ in range(1, self._chunks):
            one, other = one // self._chunk, other // self._chunk
            ones += self._operands[one % self._chunk]
            others += self._operands[other % self._chunk]
        return self._sum(start, ones, others)


@lru_cache(maxsize=8)
def _numbers(q: int, t: int) -> _Numbers:
    return _Numbers(q, t)
