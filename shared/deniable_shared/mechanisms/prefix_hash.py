"""Prefix hashing: a text's prefix as one of K codes, and one sum of the code's digits in a report.

    public    one of all tables r, a point j of the projective space over Z_g, g prime
    prefix    in the 3R tables of group 0 the whole text,
              in the R tables of group s > 0 its first min(s·step, max) bytes
    code      h(prefix) = Σ_i t(r, i, byte i) mod K,  K = g^m, t public and uniform
    y         <j, h(prefix)> mod g over the digits, with P = T/2^64; else each other one

    p = P        q = 1/g        P/((1 − P)/(g − 1)) ≤ e^ε

The public part does not depend on the value, so ε is that of one answer among g. A report supports
each text whose prefix has that sum. Two different codes have equal sums for a share (K/g − 1)/(K −
1) of the points, and two texts have equal codes with 1/K. So two texts have equal sums for exactly
1/g, and q = 1/g over the choice of t. (For a fixed t, the count of a text contains the texts that
share its code: the estimator accounts for that.) The variance near 0 is (e^ε + g − 1)²/((e^ε −
1)²(g − 1)), least at g = e^ε + 1. The best prime is at most 3.1% worse, up to ε = 4.9.

A set of reports is a histogram of messages, of fixed size. Reports need not be kept to search for
unknown texts, or to count those of a later list. Groups 1, 2, … are for the search. Group 0 is held
out for the frequencies of the texts that the search returns. It has three times the tables, because
a text must differ from all finalists there, not only from its own continuations. step = 0: no
search, lists only.

Payload: (r·M + j)·g + y with M = (K − 1)/(g − 1) points, big-endian; group 0 has the first tables.
Sources: Wang, Li, Jha 2018 (prefixes); Acharya, Sun, Zhang 2019; Feldman, Nelson, Nguyen, Talwar
2022 (points); Pătraşcu, Thorup 2012 (sums of tables as hashes); docs/mathematics/texts.md, Hashed
prefixes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from math import isqrt
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.domains import MAX_LABEL_BYTES, Text, bytes_for
from deniable_shared.errors import DomainError, ParameterError
from deniable_shared.mechanisms.structure import OneOf, OneOfParts
from deniable_shared.mechanisms.symbol_payload import SymbolPayload
from deniable_shared.randomness.dyadic import at_most_exp, parse_epsilon, threshold

if TYPE_CHECKING:
    from deniable_shared.randomness.coins import Coins

LARGEST_BASE, LARGEST_STEP, MOST_TABLES = 139, 2, 64
MOST_CODES = 20_000
CELLS = 1 << 16
"""Codes of all R tables together, if 64 tables suffice; collisions of texts fall as 1/CELLS."""

HELD_OUT = 3
"""Group 0 has HELD_OUT times R tables."""

_FEWEST_TABLES = 4
_SHORT = 24  # bytes; up to here a step of one byte detects more texts in a small tally


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, isqrt(number) + 1))


_BASES = tuple(filter(_is_prime, range(LARGEST_BASE + 1)))


def best_base(epsilon: Fraction) -> int:
    """Return the prime of least variance, exactly: the first one whose next prime is no better.

    (E + m)²/m with m = g − 1 is no larger at m₁ than at m₂ > m₁ if m₁m₂ ≥ E².
    """
    for base, following in pairwise(_BASES):
        if not at_most_exp(Fraction((base - 1) * (following - 1)), 2 * epsilon):
            return base
    return LARGEST_BASE


def entry(table: int, place: int, byte: int) -> int:
    """Return t(r, i, b): 64 public bits, the same in every language and for every collection."""
    name = b"deniable/1 prefix-hash" + table.to_bytes(2, "big") + bytes((place, byte))
    return int.from_bytes(sha256(name).digest()[:8], "big")


@dataclass(frozen=True, slots=True)
class PrefixHash(SymbolPayload[Sequence[int]]):
    """A text of up to `domain_size` bytes; g = `base`, m = `digits`, R = `tables`."""

    id: ClassVar[str] = "prefix-hash/1"
    domain_types: ClassVar[frozenset[str]] = frozenset({Text.type})
    releasable: ClassVar[bool] = True
    targets: ClassVar[frozenset[str]] = frozenset({"texts"})
    parameters: ClassVar[tuple[str, ...]] = ("base", "digits", "tables", "step")
    hashes: ClassVar[int] = 1
    domain_size: int
    epsilon: Fraction
    base: int
    digits: int
    tables: int
    step: int
    threshold: int = field(init=False)
    payload_size: int = field(init=False)
    codes: int = field(init=False)
    points: int = field(init=False)

    def __post_init__(self) -> None:
        _check(self)
        cut = threshold(parse_epsilon(self.epsilon), alphabet_size=self.base)
        codes = self.base**self.digits
        object.__setattr__(self, "threshold", cut)
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "points", (codes - 1) // (self.base - 1))
        object.__setattr__(self, "payload_size", bytes_for(self.tally_size))

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `MechanismClass`."""
        base = given.get("base", best_base(report))
        if base not in _BASES:
            raise ParameterError(
                f"base must be a prime of at most {LARGEST_BASE}, got {base}: "
                "leave it out to get the best"
            )
        digits = given.get("digits", _digits(base))
        tables = given.get("tables", _tables(base, digits))
        step = given.get("step", 1 if domain_size <= _SHORT else 2)
        return cls(domain_size, epsilon, base, digits, tables, step)

    @property
    def alphabet_size(self) -> int:
        """The number of sums, g: the private part of a report."""
        return self.base

    @property
    def groups(self) -> int:
        """The number of groups: group 0 and those of the search."""
        return 1 + (-(-self.domain_size // self.step) if self.step else 0)

    @property
    def sampling_fraction(self) -> Fraction:
        """The share of reports that are held out: they are about a whole text."""
        return Fraction(HELD_OUT, HELD_OUT + self.groups - 1)

    @property
    def all_tables(self) -> int:
        """The number of tables of all groups."""
        return (HELD_OUT + self.groups - 1) * self.tables

    @property
    def public_outcomes(self) -> int:
        """The number of tables times that of points."""
        return self.all_tables * self.points

    @property
    def tally_size(self) -> int:
        """The number of payloads; each has a count of reports."""
        return self.public_outcomes * self.base

    @property
    def q(self) -> Fraction:
        """Probability that a report supports one given other text, over the choice of hashes."""
        return Fraction(1, self.base)

    def length(self, group: int) -> int:
        """Return the bytes of the prefixes of a group."""
        return min(group * self.step, self.domain_size) if group else self.domain_size

    def tables_of(self, group: int) -> range:
        """Return the tables of a group."""
        first = (HELD_OUT + group - 1) * self.tables if group else 0
        return range(first, first + self.tables * (1 if group else HELD_OUT))

    def group_of(self, table: int) -> int:
        """Return the group of a table."""
        return max(0, table // self.tables - HELD_OUT + 1)

    def entry(self, table: int, place: int, byte: int) -> int:
        """Return what a byte at a place adds to the code, modulo `codes`."""
        return entry(table, place, byte)

    def code(self, table: int, prefix: Sequence[int]) -> int:
        """Return h(prefix) of a prefix that is already cut."""
        return sum(entry(table, *each) for each in enumerate(prefix)) % self.codes

    @property
    def structure(self) -> OneOfParts:
        """A point of a table, the value there."""
        return OneOfParts((OneOf(self.alphabet_size),), self.public_outcomes)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Draw (r, j) by `public`, y by `coins`.

        Raises DomainError unless it is an encoded text.
        """
        text = self._checked(value)
        position = (coins if public is None else public).below(self.public_outcomes)
        truthful = coins.bernoulli(self.threshold)
        other = coins.below(self.base - 1)  # always drawn: run time must not reveal the outcome
        true = self._sum(position, text)
        return self._payload(position, true if truthful else other + (other >= true))  # pyright: ignore[reportAttributeAccessIssue]  # a class variable is as good as a property

    def _sum(self, position: int, text: Sequence[int]) -> int:
        """Return <j, h(prefix)> mod g of a position r·M + j."""
        table, point = divmod(position, self.points)
        code = self.code(table, text[: self.length(self.group_of(table))])
        return _dot(_vector(point, self.base), code, self.base)

    def _checked(self, value: int | Sequence[int]) -> Sequence[int]:
        if not isinstance(value, bytes | tuple) or not 1 <= len(value) <= self.domain_size:
            raise DomainError(f"value must be 1 to {self.domain_size} bytes of an encoded text")
        return value

    def supports(self, payload: bytes, label: int | Sequence[int]) -> bool | None:
        """Whether a payload supports an encoded text; None if it is not held out."""
        position, symbol = divmod(int.from_bytes(payload, "big"), self.base)
        if self.group_of(position // self.points):
            return None
        return self._sum(position, self._checked(label)) == symbol

    def inputs(self) -> Iterator[tuple[int, ...]]:
        """Yield every text as its bytes. There are few only if texts have one byte."""
        return map(tuple, Text(self.domain_size).every())

    def _supports_value(self, position: int, symbol: int, text: Sequence[int]) -> bool:
        return symbol == self._sum(position, text)


def _digits(base: int) -> int:
    """Return the most digits whose numbers are all below MOST_CODES."""
    digits = 1
    while base ** (digits + 1) <= MOST_CODES:
        digits += 1
    return digits


def _tables(base: int, digits: int) -> int:
    """Return the number of tables for CELLS codes, within bounds; 29² codes each give 53,824."""
    wanted: int = -(-CELLS // base ** min(digits, 16))
    return min(max(_FEWEST_TABLES, wanted), MOST_TABLES)


def _vector(point: int, base: int) -> int:
    """Return the point's vector, as the number of its digits: 1, then any digits below it."""
    size = 1
    while point >= size:
        point -= size
        size *= base
    return size + point


def _dot(left: int, right: int, base: int) -> int:
    """Return Σ of the products of the digits, mod the base."""
    total = 0
    while left:
        left, digit = divmod(left, base)
        right, other = divmod(right, base)
        total += digit * other
    return total % base


def _check(form: PrefixHash) -> None:
    checks = (
        ("domain_size", form.domain_size, 1, MAX_LABEL_BYTES),
        ("digits", form.digits, 1, 14),
        ("tables", form.tables, 1, MOST_TABLES),
        ("step", form.step, 0, LARGEST_STEP),
    )
    for name, given, low, high in checks:
        if not low <= given <= high:
            raise ParameterError(f"{name} must lie in [{low}, {high}], got {given}")
    if form.base not in _BASES:
        raise ParameterError(f"base must be a prime of at most {LARGEST_BASE}, got {form.base}")
    if form.base**form.digits > MOST_CODES:
        raise ParameterError(
            f"digits must give at most {MOST_CODES:,} codes, got {form.base}^{form.digits}"
        )
