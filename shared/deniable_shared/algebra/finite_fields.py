"""Finite fields of q = p^m elements, as small as a difference set needs, and polynomials over them.

An element is an integer below q: its digits in base p are the coefficients of z^0, z^1, …. The
field's polynomial is the monic irreducible one of degree m whose other coefficients, read as such
an integer, are least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from math import isqrt

from deniable_shared.errors import ParameterError

MAX_POWER = 128
"""Largest q that is not a prime: larger primes are dense enough and need no tables."""

MAX_ORDER = 1 << 16
"""Largest field: factoring a number from the network must not take long."""

Polynomial = Sequence[int]


@dataclass(frozen=True, slots=True)
class FiniteField:
    """Arithmetic of F_q.

    A polynomial is the sequence of its coefficients, the constant one first.
    """

    q: int
    p: int
    sums: tuple[tuple[int, ...], ...] | None = None
    products: tuple[tuple[int, ...], ...] | None = None

    def add(self, a: int, b: int) -> int:
        """Return a + b."""
        return (a + b) % self.p if self.sums is None else self.sums[a][b]

    def multiply(self, a: int, b: int) -> int:
        """Return a · b."""
        return a * b % self.p if self.products is None else self.products[a][b]

    def times_x(self, residue: Polynomial, recurrence: Polynomial) -> list[int]:
        """Return x · residue, where x^t = Σ recurrence_j x^j."""
        *rest, last = residue
        return [
            self.add(low, self.multiply(last, c))
            for low, c in zip([0, *rest], recurrence, strict=True)
        ]

    def modular(self, a: Polynomial, b: Polynomial, recurrence: Polynomial) -> list[int]:
        """Return a · b, where x^t = Σ recurrence_j x^j."""
        total = [0] * len(recurrence)
        for factor in reversed(b):
            total = self.times_x(total, recurrence)
            total = [
                self.add(low, self.multiply(factor, each))
                for low, each in zip(total, a, strict=True)
            ]
        return total

    def power_of_x(self, exponent: int, recurrence: Polynomial) -> list[int]:
        """Return x^exponent, where x^t = Σ recurrence_j x^j."""
        result = [1] + [0] * (len(recurrence) - 1)
        for bit in f"{exponent:b}":
            result = self.modular(result, result, recurrence)
            if bit == "1":
                result = self.times_x(result, recurrence)
        return result


def prime_factors(number: int) -> list[int]:
    """Return the distinct primes that divide `number`, in rising order."""
    primes, rest = [], number
    for prime in range(2, isqrt(number) + 1):
        if rest % prime == 0:
            primes.append(prime)
            while rest % prime == 0:
                rest //= prime
    return [*primes, rest] if rest > 1 else primes


def prime_power(q: int) -> int | None:
    """Return p if q is a power of the prime p, and q is p itself or at most 128; else None.

    Returns None for every q from 65,537 on.
    """
    if not 2 <= q <= MAX_ORDER:
        return None
    factors = prime_factors(q)
    return factors[0] if len(factors) == 1 and (factors[0] == q or q <= MAX_POWER) else None


@lru_cache(maxsize=64)
def finite_field(q: int) -> FiniteField:
    """Return F_q. Raises ParameterError unless q is a prime, or a power of one up to 128."""
    p = prime_power(q)
    if p is None:
        raise ParameterError(f"field order must be a prime, or a power of one up to 128, got {q}")
    if p == q:
        return FiniteField(q, p)
    prime = FiniteField(p, p)
    degree = len(_digits(q, p)) - 1
    modulus = next(
        negated
        for code in count(1)
        if _is_irreducible(negated := [-c % p for c in _digits(code, p, degree)], prime)
    )
    sums = _sums(p, degree)
    return FiniteField(q, p, sums, _products(prime, modulus, sums))


def _sums(p: int, degree: int) -> tuple[tuple[int, ...], ...]:
    """Return the table of a + b, digit by digit."""
    table, size = [[0]], 1
    for _ in range(degree):
        table = [
            [(x + y) % p * size + low for y in range(p) for low in row]
            for x in range(p)
            for row in table
        ]
        size *= p
    return tuple(map(tuple, table))


def _products(
    prime: FiniteField, modulus: Polynomial, sums: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, ...], ...]:
    """Return the table of a · b: sums of the multiples of a, of az, of az², …."""
    rows = []
    for a in range(len(sums)):
        row, shifted = [0], _digits(a, prime.p, len(modulus))
        for _ in modulus:
            basis, multiples = _number(shifted, prime.p), [0]
            for _ in range(prime.p - 1):
                multiples.append(sums[multiples[-1]][basis])
            row = [sums[multiple][low] for multiple in multiples for low in row]
            shifted = prime.times_x(shifted, modulus)
        rows.append(tuple(row))
    return tuple(rows)


def _is_irreducible(recurrence: Polynomial, prime: FiniteField) -> bool:
    """Whether x^m − Σ c_j x^j is: it divides x^(p^m) − x, is prime to x^(p^(m/r)) − x for r | m."""
    m, p = len(recurrence), prime.p
    x = [0, 1] + [0] * (m - 2) if m > 1 else [recurrence[0]]
    if prime.power_of_x(p**m, recurrence) != x:
        return False
    return all(
        _is_unit(_minus(prime.power_of_x(p ** (m // r), recurrence), x, p), recurrence, prime)
        for r in prime_factors(m)
    )


def _is_unit(residue: Polynomial, recurrence: Polynomial, prime: FiniteField) -> bool:
    """Whether it has an inverse: no factor of the modulus divides it, so a power of it is 1."""
    if not any(residue):
        return False
    one = [1] + [0] * (len(recurrence) - 1)
    power: Polynomial = residue
    for _ in range(prime.p ** len(recurrence)):
        if list(power) == one:
            return True
        power = prime.modular(power, residue, recurrence)
    return False


def _minus(a: Polynomial, b: Polynomial, p: int) -> list[int]:
    return [(x - y) % p for x, y in zip(a, b, strict=True)]


def _digits(number: int, base: int, width: int = 0) -> list[int]:
    return list(_digit_by_digit(number, base, width))


def _digit_by_digit(number: int, base: int, width: int) -> Iterator[int]:
    while number or width > 0:
        number, digit = divmod(number, base)
        width -= 1
        yield digit


def _number(digits: Polynomial, base: int) -> int:
    total = 0
    for digit in reversed(digits):
        total = total * base + digit
    return total
