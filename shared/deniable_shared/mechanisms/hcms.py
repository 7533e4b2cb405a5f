"""Hadamard count-mean sketch: one bit of the Hadamard code of a text's cell in one of k tables.

    tossed openly    a table j and a coefficient l, each alike among k and m
    b                parity of l AND cell, told with P = T/2^64, else the other:  P/(1 − P) ≤ e^ε

    p = P        q = P/m + (1 − 1/m)/2        n·Var = (m/(m − 1))²·(coth²(ε/2) − f − (1 − f)/m²)

A report supports each text whose cell has that parity; of two different cells half of all l. l = 0
says nothing and is asked as Apple's devices ask it. What other texts add is as in `cms/1`, and the
cells are the same. Payload: 2(j·m + l) + b, big-endian.
Sources: Apple, *Learning with privacy at scale*, 2017; local-dp §8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

from deniable_shared.coins import Coins
from deniable_shared.domain import Text, bytes_for
from deniable_shared.dyadic import parse_epsilon, threshold
from deniable_shared.errors import DecodeError, ParameterError
from deniable_shared.mechanisms.sketched import cell_of, check_shape, checked_text

__all__ = ["HadamardSketch"]

_TABLES, _CELLS = 64, 1_024
_SCALE = 1 << 64
_MAX_PAYLOADS = 65_536


@dataclass(frozen=True, slots=True)
class HadamardSketch:
    """A text of up to `domain_size` bytes; k = `tables`, m = `cells`."""

    id: ClassVar[str] = "hcms/1"
    domain_types: ClassVar[frozenset[str]] = frozenset({Text.type})
    parameters: ClassVar[tuple[str, ...]] = ("tables", "cells")
    symbols: ClassVar[int] = 2
    favoured: ClassVar[int] = 1
    places: ClassVar[int] = 1
    differing: ClassVar[int] = 1
    hashes: ClassVar[int] = 1
    told: ClassVar[Fraction] = Fraction(1)
    domain_size: int
    epsilon: Fraction
    tables: int
    cells: int
    threshold: int = field(init=False)
    payload_size: int = field(init=False)

    def __post_init__(self) -> None:
        check_shape(self.domain_size, self.tables, self.cells, self.tally_size)
        object.__setattr__(self, "threshold", threshold(parse_epsilon(self.epsilon)))
        object.__setattr__(self, "payload_size", bytes_for(self.tally_size))

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `contract.Kind`."""
        return cls(domain_size, epsilon, given.get("tables", _TABLES), given.get("cells", _CELLS))

    @property
    def public_choices(self) -> int:
        """Tables and coefficients."""
        return self.tables * self.cells

    @property
    def tally_size(self) -> int:
        """One count of reports a payload."""
        return 2 * self.tables * self.cells

    @property
    def agreeing(self) -> Fraction:
        """1/m."""
        return Fraction(1, self.cells)

    @property
    def p(self) -> Fraction:
        """Exact probability that a report supports the text."""
        return Fraction(self.threshold, _SCALE)

    @property
    def q(self) -> Fraction:
        """Probability that it supports one given other text, over the choice of hash functions."""
        return self.p * self.agreeing + (1 - self.agreeing) / 2

    def cells_of(self, table: int, text: bytes) -> tuple[int, ...]:
        """The one cell."""
        return (cell_of(table, text, self.cells),)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """j and l by `public`, b by `coins`; DomainError unless it is an encoded text."""
        text = checked_text(value, self.domain_size)
        position = (coins if public is None else public).below(self.public_choices)
        flip = not coins.bernoulli(self.threshold)
        return self._payload(position, self._parity(position, text) ^ flip)

    def renewed(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """The same j and l; b kept with probability keep/2^64, else a fair coin."""
        position, told = divmod(int.from_bytes(permanent, "big"), 2)
        kept = coins.bernoulli(keep)
        drawn = coins.bits(1)  # always drawn: work must not tell the outcome
        return self._payload(position, (drawn, told)[kept])

    def _parity(self, position: int, text: bytes) -> int:
        table, coefficient = divmod(position, self.cells)
        return (coefficient & self.cells_of(table, text)[0]).bit_count() & 1

    def _payload(self, position: int, told: int) -> bytes:
        return (2 * position + told).to_bytes(self.payload_size, "big")

    def supports(self, payload: bytes, label: int | Sequence[int]) -> bool:
        """Whether an encoded text has the parity that is told."""
        position, told = divmod(int.from_bytes(payload, "big"), 2)
        return self._parity(position, checked_text(label, self.domain_size)) == told

    def validate(self, payload: bytes) -> None:
        """DecodeError unless `payload` names a message in its one length."""
        if len(payload) != self.payload_size:
            raise DecodeError(f"payload must be {self.payload_size} bytes, got {len(payload)}")
        if int.from_bytes(payload, "big") >= self.tally_size:
            raise DecodeError(f"payload must hold a number in [0, {self.tally_size - 1}]")

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Exact probability of every payload; ParameterError beyond 65,536 payloads."""
        text = checked_text(value, self.domain_size)
        if self.tally_size > _MAX_PAYLOADS:
            raise ParameterError(
                f"payloads must be at most {_MAX_PAYLOADS:,} for a pmf, got {self.tally_size:,}: "
                "name fewer tables or cells"
            )
        chances = ((1 - self.p) / self.public_choices, self.p / self.public_choices)
        return {
            self._payload(position, told): chances[told == self._parity(position, text)]
            for position in range(self.public_choices)
            for told in (0, 1)
        }

    def renewed_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Exact probability of both payloads that `renewed` can give."""
        position, told = divmod(int.from_bytes(permanent, "big"), 2)
        flip = Fraction(_SCALE - keep, 2 * _SCALE)
        return {self._payload(position, told): 1 - flip, self._payload(position, 1 - told): flip}

    def inputs(self) -> Iterator[tuple[int, ...]]:
        """Every text, as its bytes; there are few only where they are one byte long."""
        return map(tuple, Text(self.domain_size).every())
