"""Recurrences of full period over F_q, and the sequences that obey them.

    s_0 … s_(t−2) = 0, s_(t−1) = 1, s_(i+t) = c_0·s_i + c_1·s_(i+1) + … + c_(t−1)·s_(i+t−1)

The coefficients are those of least c_0 + c_1·q + … + c_(t−1)·q^(t−1) for which the smallest k > 0
with x^k in F_q is K = (q^t − 1)/(q − 1), modulo x^t − Σ c_j x^j. So all programs use the same ones.

The sequence grows by long blocks: raising to the power Q = q^k adds no mixed terms and leaves F_q
unchanged, so s_(i+tQ) = Σ c_j·s_(i+jQ) for Q terms at once. Over p^m elements, p < 128, there is a
plane of bytes for each digit in base p. A product with a constant is one `translate` of each plane.
A sum is the sum of long integers whose bytes never carry. Larger primes take 64 bits a term.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import count

from deniable_shared.algebra.finite_fields import FiniteField, finite_field, prime_factors
from deniable_shared.algebra.inner_products import InnerProducts, inner_products

_BYTE = 256
_MOST_IN_BYTES = 128  # primes below have sums of two digits in a byte

Steps = Sequence[tuple[int, int]]
"""The places j with c_j ≠ 0, and c_j."""


def point_count(q: int, t: int) -> int:
    """Return K, the number of points of the projective space of t coordinates over F_q."""
    return int((q**t - 1) // (q - 1))


@lru_cache(maxsize=64)
def primitive_recurrence(q: int, t: int) -> tuple[int, ...]:
    """Return c_0 … c_(t−1). Raises ParameterError unless F_q is known."""
    products, codes = inner_products(q), point_count(q, t)
    exponents = [codes // prime for prime in prime_factors(codes)]
    for code in count(q):  # below, x^t is in F_q
        coefficients = tuple(code // q**j % q for j in range(t))
        if coefficients[0] and _has_order(products, coefficients, codes, exponents):
            return coefficients
    raise AssertionError("a primitive polynomial exists for every field and degree")


def _has_order(
    products: InnerProducts, recurrence: Sequence[int], codes: int, exponents: Sequence[int]
) -> bool:
    steps = [(j, products.operands([c])) for j, c in enumerate(recurrence) if c]

    def is_scalar(exponent: int) -> bool:
        return not any(_power_of_x(exponent, len(recurrence), steps, products)[1:])

    return is_scalar(codes) and not any(map(is_scalar, exponents))


_Terms = Sequence[tuple[int, tuple[int, ...]]]


def _power_of_x(exponent: int, t: int, steps: _Terms, products: InnerProducts) -> list[int]:
    """Return x^exponent, the constant coefficient first, by squaring."""
    power = [1, *[0] * (t - 1)]
    for bit in f"{exponent:b}":
        power = _reduced(_squared(power, products), t, steps, products)
        if bit == "1":
            power = _reduced([0, *power], t, steps, products)
    return power


def _squared(power: Sequence[int], products: InnerProducts) -> list[int]:
    forwards = products.operands(power)
    backwards, last = forwards[::-1], len(forwards) - 1
    return [
        *(products.of(0, forwards[: k + 1], backwards[last - k :]) for k in range(last)),
        *(products.of(0, forwards[k:], backwards) for k in range(last + 1)),
    ]


def _reduced(power: list[int], t: int, steps: _Terms, products: InnerProducts) -> list[int]:
    while len(power) > t:
        above = power.pop()
        if above:
            factor, start = products.operands([above]), len(power) - t
            for j, c in steps:
                power[start + j] = products.of(power[start + j], factor, c)
    return power


def recurrence_sequence(q: int, t: int, length: int) -> bytes | array[int]:
    """Return s_0 … s_(length−1) as elements, in bytes if q fits into one.

    Raises ParameterError unless F_q is known.
    """
    field, steps = finite_field(q), [(j, c) for j, c in enumerate(primitive_recurrence(q, t)) if c]
    if field.p >= _MOST_IN_BYTES:
        return _in_words(field.p, t, steps, length)
    planes = _in_planes(field, t, steps, length)
    elements: int = sum(int.from_bytes(each, "big") * field.p**r for r, each in enumerate(planes))
    return elements.to_bytes(length, "big")


def _in_planes(field: FiniteField, t: int, steps: Steps, length: int) -> list[bytearray]:
    """Return a byte for each digit of each element."""
    p, m = field.p, len(_digits(field.q - 1, field.p))
    planes = [bytearray(t) for _ in range(m)]
    planes[0][-1] = 1
    tables = [bytes(number * c % p for number in range(_BYTE)) for c in range(max(p, 2))]
    rows_of = [(j, _rows(field, c, m)) for j, c in steps]
    block = 1
    while (done := len(planes[0])) < length:
        while block * field.q * t <= done:
            block *= field.q
        first, size = done - t * block, min(block, length - done)
        windows = [
            (rows, [plane[first + j * block :][:size] for plane in planes]) for j, rows in rows_of
        ]
        for row, plane in enumerate(planes):
            terms = [
                window.translate(tables[c])
                for rows, pieces in windows
                for c, window in zip(rows[row], pieces, strict=True)
                if c
            ]
            plane += _sum(terms, p, tables[1], size)
    return planes


def _rows(field: FiniteField, factor: int, m: int) -> list[list[int]]:
    """How to mix planes: for each digit of the product, what each digit of an element adds."""
    products = [_digits(field.multiply(factor, field.p**s), field.p, m) for s in range(m)]
    return [[product[row] for product in products] for row in range(m)]


def _digits(number: int, base: int, width: int = 0) -> list[int]:
    digits: list[int] = []
    while number or width > len(digits):
        number, digit = divmod(number, base)
        digits.append(digit)
    return digits


def _sum(terms: Iterable[bytes | bytearray], p: int, residues: bytes, size: int) -> bytes:
    """Digits added byte by byte, and reduced before any byte could carry."""
    total, most = 0, 0
    for term in terms:
        if most + p > _BYTE:
            reduced = total.to_bytes(size, "big").translate(residues)
            total, most = int.from_bytes(reduced, "big"), p - 1
        total += int.from_bytes(term, "big")
        most += p - 1
    return total.to_bytes(size, "big").translate(residues)


def _in_words(p: int, t: int, steps: Steps, length: int) -> array[int]:
    """Each residue in 64 bits, which hold any sum of t products of primes here."""
    words = array("Q", [*[0] * (t - 1), 1])
    block = 1
    while (done := len(words)) < length:
        while block * p * t <= done:
            block *= p
        first, size = done - t * block, min(block, length - done)
        total = 0
        for j, c in steps:
            window = words[first + j * block : first + j * block + size]
            total += c * int.from_bytes(window.tobytes(), sys.byteorder)
        sums = array("Q", total.to_bytes(8 * size, sys.byteorder))
        words.extend(array("Q", [number % p for number in sums]))
    return words
