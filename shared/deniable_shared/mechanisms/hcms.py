"""Hadamard count-mean sketch: one bit of the Hadamard code of a text's cell in one of k tables.

    public    a table j and a coefficient l, uniform among k and m
    b         parity of l AND cell, sent with P = T/2^64, else the other bit:  P/(1 − P) ≤ e^ε

    p = P        q = P/m + (1 − 1/m)/2        n·Var = (m/(m − 1))²·(coth²(ε/2) − f − (1 − f)/m²)

A report supports each text whose cell has that parity. Two different cells agree for half of all l.
l = 0 says nothing and is drawn all the same, as on Apple's devices. The contribution of other texts
is as in `cms/1`, and the cells are the same. Payload: 2(j·m + l) + b, big-endian.
Sources: Apple, *Learning with privacy at scale*, 2017; docs/mathematics/texts.md, Sketches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.domains import Text, bytes_for
from deniable_shared.mechanisms.bit_sketch import cell_of, check_shape, check_text
from deniable_shared.mechanisms.structure import OneOf, OneOfParts
from deniable_shared.mechanisms.symbol_payload import SymbolPayload
from deniable_shared.randomness.dyadic import parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deniable_shared.randomness.coins import Coins

_TABLES, _CELLS = 64, 1_024


@dataclass(frozen=True, slots=True)
class HadamardSketch(SymbolPayload[bytes]):
    """A text of up to `domain_size` bytes; k = `tables`, m = `cells`."""

    id: ClassVar[str] = "hcms/1"
    domain_types: ClassVar[frozenset[str]] = frozenset({Text.type})
    releasable: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("tables", "cells")
    alphabet_size: ClassVar[int] = 2
    hashes: ClassVar[int] = 1
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
        """See `MechanismClass`."""
        return cls(domain_size, epsilon, given.get("tables", _TABLES), given.get("cells", _CELLS))

    @property
    def public_outcomes(self) -> int:
        """The number of tables times that of coefficients."""
        return self.tables * self.cells

    @property
    def tally_size(self) -> int:
        """The number of payloads; each has a count of reports."""
        return 2 * self.tables * self.cells

    @property
    def collision_probability(self) -> Fraction:
        """1/m."""
        return Fraction(1, self.cells)

    @property
    def q(self) -> Fraction:
        """Probability that it supports one given other text, over the choice of hash functions."""
        return self.p * self.collision_probability + (1 - self.collision_probability) / 2

    def cells_of(self, table: int, text: bytes) -> tuple[int, ...]:
        """Return the one cell."""
        return (cell_of(table, text, self.cells),)

    @property
    def structure(self) -> OneOfParts:
        """A coefficient of a table, its sign."""
        return OneOfParts((OneOf(2),), self.public_outcomes)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Draw j and l by `public`, b by `coins`.

        Raises DomainError unless it is an encoded text.
        """
        text = self._checked(value)
        position = (coins if public is None else public).below(self.public_outcomes)
        flip = not coins.bernoulli(self.threshold)
        return self._payload(position, self._parity(position, text) ^ flip)  # pyright: ignore[reportAttributeAccessIssue]  # a class variable is as good as a property

    def _parity(self, position: int, text: bytes) -> int:
        table, coefficient = divmod(position, self.cells)
        return (coefficient & self.cells_of(table, text)[0]).bit_count() & 1

    def inputs(self) -> Iterator[tuple[int, ...]]:
        """Yield every text as its bytes. There are few only if texts have one byte."""
        return map(tuple, Text(self.domain_size).every())

    def _checked(self, value: int | Sequence[int]) -> bytes:
        return check_text(value, self.domain_size)

    def _supports_value(self, place: int, symbol: int, text: bytes) -> bool:
        return symbol == self._parity(place, text)

    def supports(self, payload: bytes, label: int | Sequence[int]) -> bool:
        """Whether an encoded text has the parity that was sent."""
        return self._supports_value(*self._read(payload), self._checked(label))  # pyright: ignore[reportAttributeAccessIssue, reportCallIssue]  # a class variable is as good as a property
