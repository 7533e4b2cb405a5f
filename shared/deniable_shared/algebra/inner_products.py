"""Sums of products in a finite field, for vectors of a few elements, as fast as Python goes.

Over a prime they are sums of integers, reduced once. Over p^m elements a product is the power of a
generator whose exponent is the sum of two logarithms. The logarithm of 0 is so large that every sum
with it leads to 0. Sums are XOR for p = 2. For other p, the digits of an element in base p are put
into lanes, which add up without carrying and are reduced once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import add, mul, xor
from typing import TYPE_CHECKING, Protocol

from deniable_shared.algebra.finite_fields import FiniteField, finite_field

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LANE = 16  # bits: for 500 terms of digits below 127
_DIGIT = (1 << _LANE) - 1


class InnerProducts(Protocol):
    """Inner products over one field. `operands` puts vectors into the form that `of` takes."""

    def operands(self, elements: Iterable[int]) -> tuple[int, ...]:
        """Return elements in the form that `of` takes."""
        ...

    def of(self, start: int, ones: Iterable[int], others: Iterable[int]) -> int:
        """Return the element `start` + Σ one · other, over at most 500 pairs of operands."""
        ...


@lru_cache(maxsize=16)
def inner_products(q: int) -> InnerProducts:
    """Return the inner products over F_q. Raises ParameterError unless F_q is known."""
    field = finite_field(q)
    if field.p == q:
        return _OfIntegers(q)
    powers, logs = logarithms(field)
    lanes = tuple(_lanes(element, field.p) for element in range(q))
    return _ByLogarithms(field.p, q, tuple(lanes[each] for each in powers), tuple(logs), lanes)


@dataclass(frozen=True, slots=True)
class _OfIntegers:
    p: int

    def operands(self, elements: Iterable[int]) -> tuple[int, ...]:
        return tuple(elements)

    def of(self, start: int, ones: Iterable[int], others: Iterable[int]) -> int:
        total: int = start + sum(map(mul, ones, others))
        return total % self.p


@dataclass(frozen=True, slots=True)
class _ByLogarithms:
    p: int
    q: int
    powers: Sequence[int]
    """Lanes of the elements, by logarithm."""
    logs: Sequence[int]
    lanes: Sequence[int]
    """By element."""

    def operands(self, elements: Iterable[int]) -> tuple[int, ...]:
        return tuple(self.logs[element] for element in elements)

    def of(self, start: int, ones: Iterable[int], others: Iterable[int]) -> int:
        products = map(self.powers.__getitem__, map(add, ones, others))
        if self.p == 2:
            return reduce(xor, products, start)
        lanes, element, place = sum(products, self.lanes[start]), 0, 1
        while place < self.q:
            element += (lanes & _DIGIT) % self.p * place
            lanes >>= _LANE
            place *= self.p
        return element


def logarithms(field: FiniteField) -> tuple[list[int], list[int]]:
    """Return powers of a generator, up to the sum of two logarithms, and each element's logarithm.

    The logarithm of 0 is 2(q − 1), and the powers from there on are 0.
    """
    units, generator = field.q - 1, 1
    powers = _powers(field, generator)
    while len(powers) < units:
        generator += 1
        powers = _powers(field, generator)
    logs = [2 * units] * field.q
    for log, element in enumerate(powers):
        logs[element] = log
    return [*powers, *powers, *[0] * (2 * units + 1)], logs


def _powers(field: FiniteField, element: int) -> list[int]:
    """Return 1 and all other powers of a unit."""
    powers, power = [1], element
    while power != 1:
        powers.append(power)
        power = field.multiply(power, element)
    return powers


def _lanes(element: int, p: int) -> int:
    if p == 2:
        return element
    lanes, place = 0, 0
    while element:
        element, digit = divmod(element, p)
        lanes |= digit << place
        place += _LANE
    return lanes
