"""Singer's difference sets: w places on a circle of K, every distance between two of them λ times.

    K = (q^t − 1)/(q − 1)      w = (q^(t−1) − 1)/(q − 1)      λ = (q^(t−2) − 1)/(q − 1)

They are where a sequence over F_q is 0: s_0 … s_(t−2) = 0, s_(t−1) = 1, and from there on

    s_(i+t) = c_0·s_i + c_1·s_(i+1) + … + c_(t−1)·s_(i+t−1)

for the coefficients of least c_0 + c_1·q + … + c_(t−1)·q^(t−1) for which the smallest k > 0 with
x^k in F_q is K, modulo x^t − Σ c_j x^j. So everybody finds the same set.
Source: Singer 1938; local-dp §7.3.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import lru_cache, reduce
from itertools import count
from operator import mul

from deniable_shared.errors import ParameterError
from deniable_shared.fields import Field, field_of, prime_factors

__all__ = ["codes_of", "difference_set", "recurrence_of", "size_of"]


def codes_of(q: int, t: int) -> int:
    """K: points of the projective space of t coordinates over F_q."""
    return int((q**t - 1) // (q - 1))


def size_of(q: int, t: int) -> int:
    """w: points of one of its hyperplanes."""
    return codes_of(q, t - 1)


@lru_cache(maxsize=16)
def difference_set(q: int, t: int) -> array[int]:
    """The w places in rising order; ParameterError unless F_q is known and t ≥ 2."""
    if t < 2:
        raise ParameterError(f"dimension must be at least 2, got {t}")
    field = field_of(q)
    return array("I", _zeros(field, recurrence_of(q, t), codes_of(q, t)))


@lru_cache(maxsize=64)
def recurrence_of(q: int, t: int) -> tuple[int, ...]:
    """c_0 … c_(t−1)."""
    field, codes = field_of(q), codes_of(q, t)
    exponents = [codes // prime for prime in prime_factors(codes)]
    for code in count(q):  # below, x^t is in F_q
        coefficients = [code // q**j % q for j in range(t)]
        if coefficients[0] and _has_order(field, coefficients, codes, exponents):
            return tuple(coefficients)
    raise AssertionError("a primitive polynomial exists for every field and degree")


def _has_order(field: Field, recurrence: list[int], codes: int, exponents: list[int]) -> bool:
    def is_scalar(exponent: int) -> bool:
        return not any(field.power_of_x(exponent, recurrence)[1:])

    return is_scalar(codes) and not any(map(is_scalar, exponents))


def _zeros(field: Field, recurrence: tuple[int, ...], codes: int) -> Iterator[int]:
    """Where the sequence is 0; blocks double, as its p-th powers obey the recurrence's p-th power.

    s_(i+tP) = Σ c_j^P · s_(i+jP)        P = 1, p, p², …
    """
    t, step = len(recurrence), 1
    sequence, taps = [0] * (t - 1) + [1], list(recurrence)
    while len(sequence) < codes:
        if len(sequence) >= t * step * field.p:
            step *= field.p
            taps = [_to_the_p(field, c) for c in taps]
        first = len(sequence) - t * step
        length = min(step, codes - len(sequence))
        starts = [first + j * step for j in range(t)]
        terms = [(c, sequence[i : i + length]) for c, i in zip(taps, starts, strict=True) if c]
        sequence += _combined(field, terms)
    return (place for place, value in enumerate(sequence) if not value)


def _combined(field: Field, terms: list[tuple[int, list[int]]]) -> list[int]:
    """Σ c · column."""
    if field.sums is not None and field.products is not None:
        sums, products = field.sums, field.products
        tabled = [[products[c][x] for x in column] for c, column in terms]
        return reduce(
            lambda a, b: [sums[x][y] for x, y in zip(a, b, strict=True)], tabled[1:], tabled[0]
        )
    p = field.p
    if len(terms) == 2:
        (a, first), (b, second) = terms
        return [(a * x + b * y) % p for x, y in zip(first, second, strict=True)]
    factors = [c for c, _ in terms]
    columns = [column for _, column in terms]
    return [sum(map(mul, factors, row)) % p for row in zip(*columns, strict=True)]


def _to_the_p(field: Field, element: int) -> int:
    return reduce(field.multiply, [element] * (field.p - 1), element)
