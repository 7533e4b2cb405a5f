"""Sketches of texts: a text sets a few cells of one of many tables. All cells are sent with noise.

    public     one of k tables
    truth      m bits, 1 in at most h cells: those that hash functions give the text
    sent       each bit unchanged with P = T/2^64, else flipped: (P/(1 − P))^(2h) ≤ e^ε

as two texts differ in at most 2h bits. For a share β of the choices of hash functions, another text
has one given cell of a text. So over these choices a bit of the text supports it with

    p = P        q = 1 − P + β·(2P − 1)

and (c/n − q)/(p − q) is unbiased: that is the correction for collisions. Payload: the table,
big-endian, then the bits, cell 0 most significant. `cms/1` and `rappor/1` are two ways to hash. In
a chain each bit is kept or drawn again as a fair coin; the table belongs to the permanent answer.
Sources: Erlingsson, Pihur, Korolova 2014; Apple 2017; Pan 2024 (errors in it);
docs/mathematics/texts.md, Sketches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar

from deniable_shared.domains import MAX_LABEL_BYTES, Text, bytes_for
from deniable_shared.errors import DecodeError, DomainError, ParameterError
from deniable_shared.mechanisms.base import MechanismBase
from deniable_shared.mechanisms.structure import IndependentBits, OneOfParts
from deniable_shared.randomness.dyadic import SCALE, parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_shared.randomness.coins import Coins

MOST_TABLES, MOST_CELLS = 1_024, 4_096
MOST_COUNTED = 1 << 20
"""The most integers in a tally."""

_MAX_PMF_BITS = 12


def cell_of(table: int, text: bytes, cells: int) -> int:
    """Return the cell of a text in a table: the same in every language and for every collection."""
    name = b"deniable/1 sketch" + table.to_bytes(2, "big") + text
    return int.from_bytes(sha256(name).digest()[:8], "big") % cells


def check_text(value: int | Sequence[int], most: int) -> bytes:
    """Return the value as bytes. Raises DomainError unless it is an encoded text."""
    if not isinstance(value, bytes | tuple) or not 1 <= len(value) <= most:
        raise DomainError(f"value must be 1 to {most} bytes of an encoded text")
    return bytes(value)


def check_shape(domain_size: int, tables: int, cells: int, counted: int) -> None:
    """Raises ParameterError if a size is out of range; cells are a power of two, 8 or more."""
    checks = (
        ("domain_size", domain_size, 1, MAX_LABEL_BYTES),
        ("tables", tables, 1, MOST_TABLES),
        ("cells", cells, 8, MOST_CELLS),
        ("tables times cells", counted, 1, MOST_COUNTED),
    )
    for name, given, low, high in checks:
        if not low <= given <= high:
            raise ParameterError(f"{name} must lie in [{low:,}, {high:,}], got {given:,}")
    if cells & (cells - 1):
        raise ParameterError(f"cells must be a power of two, got {cells}: take 1,024")


@dataclass(frozen=True, slots=True)
class BitSketch(MechanismBase, ABC):
    """A text of up to `domain_size` bytes; k = `tables`, m = `cells`."""

    id: ClassVar[str]
    domain_types: ClassVar[frozenset[str]] = frozenset({Text.type})
    releasable: ClassVar[bool] = True
    alphabet_size: ClassVar[int] = 2
    domain_size: int
    epsilon: Fraction
    tables: int
    cells: int
    threshold: int = field(init=False)
    payload_size: int = field(init=False)

    def __post_init__(self) -> None:
        check_shape(self.domain_size, self.tables, self.cells, self.tally_size)
        share = parse_epsilon(self.epsilon) / self.max_differing_coordinates
        object.__setattr__(self, "threshold", threshold(share))
        object.__setattr__(self, "payload_size", bytes_for(self.tables) + self.cells // 8)

    @property
    @abstractmethod
    def hashes(self) -> int:
        """h: the most cells of a text in a table."""

    @property
    @abstractmethod
    def collision_probability(self) -> Fraction:
        """β: the chance that another text has one given cell."""

    @abstractmethod
    def cells_of(self, table: int, text: bytes) -> tuple[int, ...]:
        """Return the cells of a text in a table, each once."""

    @property
    def max_differing_coordinates(self) -> int:
        """The most bits in which two texts can differ."""
        return 2 * self.hashes

    @property
    def coordinates(self) -> int:
        """One symbol per bit, one bit per cell."""
        return self.cells

    @property
    def public_outcomes(self) -> int:
        """The number of tables."""
        return self.tables

    @property
    def tally_size(self) -> int:
        """For each table, the number of its reports and of the ones in each of its cells."""
        return self.tables * (self.cells + 1)

    @property
    def q(self) -> Fraction:
        """Exact probability that a bit supports one given other text, over the hash functions."""
        return 1 - self.p + self.collision_probability * (2 * self.p - 1)

    @property
    def structure(self) -> OneOfParts:
        """The bits of a table."""
        return OneOfParts((IndependentBits(self.cells),), self.tables)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Draw the table by `public`, the bits by `coins`.

        Raises DomainError unless an encoded text.
        """
        text = check_text(value, self.domain_size)
        table = (coins if public is None else public).below(self.tables)
        flips = coins.bernoulli_vector(SCALE - self.threshold, self.cells)
        return self._payload(table, self._truth(table, text) ^ flips)

    def rerandomize(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """Keep the table, and each bit with probability keep/2^64; otherwise draw a fair coin."""
        table, bits = self._read(permanent)
        drawn = coins.bits(self.cells)  # always drawn: run time must not reveal the outcome
        kept = coins.bernoulli_vector(keep, self.cells)
        return self._payload(table, drawn ^ (drawn ^ bits) & kept)

    def _truth(self, table: int, text: bytes) -> int:
        return sum(1 << (self.cells - 1 - cell) for cell in self.cells_of(table, text))

    def _payload(self, table: int, bits: int) -> bytes:
        return ((table << self.cells) + bits).to_bytes(self.payload_size, "big")

    def _read(self, payload: bytes) -> tuple[int, int]:
        number = int.from_bytes(payload, "big")
        return number >> self.cells, number & ((1 << self.cells) - 1)

    def supports(self, payload: bytes, label: int | Sequence[int]) -> bool:
        """Whether the first of an encoded text's bits is sent as 1."""
        table, bits = self._read(payload)
        first = self.cells_of(table, check_text(label, self.domain_size))[0]
        return bool(bits >> (self.cells - 1 - first) & 1)

    def validate(self, payload: bytes) -> None:
        """Raises DecodeError unless `payload` has the right length and names a table."""
        if len(payload) != self.payload_size:
            raise DecodeError(f"payload must be {self.payload_size} bytes, got {len(payload)}")
        if self._read(payload)[0] >= self.tables:
            raise DecodeError(f"payload must name a table in [0, {self.tables - 1}]")

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload. Raises ParameterError for many cells."""
        text = check_text(value, self.domain_size)
        return {
            payload: chance / self.tables
            for table in range(self.tables)
            for payload, chance in self._near(table, self._truth(table, text), 1 - self.p)
        }

    def rerandomized_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload of `rerandomize`, for few cells."""
        return dict(self._near(*self._read(permanent), Fraction(SCALE - keep, 2 * SCALE)))

    def _near(self, table: int, bits: int, flip: Fraction) -> Iterator[tuple[bytes, Fraction]]:
        """Yield every payload of a table and its probability; each bit is flipped independently."""
        m = self.cells
        if self.tables << m > 1 << _MAX_PMF_BITS:
            raise ParameterError(f"cells must be fewer for a pmf, got {self.tables} tables of {m}")
        by_flips = [(1 - flip) ** (m - flips) * flip**flips for flips in range(m + 1)]
        for noisy_bits in range(1 << m):
            yield self._payload(table, noisy_bits), by_flips[(noisy_bits ^ bits).bit_count()]

    def inputs(self) -> Iterator[tuple[int, ...]]:
        """Yield every text as its bytes. There are few only if texts have one byte."""
        return map(tuple, Text(self.domain_size).every())
