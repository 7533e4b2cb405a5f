"""What every local randomizer offers, so that both ends can use any of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Protocol

from deniable_shared.coins import Coins

__all__ = ["Mechanism"]


class Mechanism(Protocol):
    """A randomizer with all its parameters fixed. Behaviour behind an id never changes."""

    @property
    def id(self) -> str:
        """Name and version, like "rr/1"."""

    @property
    def domain_types(self) -> frozenset[str]:
        """Types of the domains it can answer for."""

    @property
    def domain_size(self) -> int:
        """Number of bits, or of choices."""

    @property
    def epsilon(self) -> Fraction:
        """Of one whole report."""

    @property
    def payload_size(self) -> int:
        """Bytes of every payload."""

    @property
    def tally_size(self) -> int:
        """Integers in the tally of any set of reports."""

    @property
    def threshold(self) -> int:
        """T of 2^64: the integer whose law ε certifies."""

    @property
    def p(self) -> Fraction:
        """Exact probability that a report supports what is true."""

    @property
    def q(self) -> Fraction:
        """Exact probability that a report supports one thing that is not true."""

    def randomize(self, value: int | Sequence[int], coins: Coins) -> bytes:
        """One payload; DomainError, which never repeats the value, unless it is encoded."""

    def validate(self, payload: bytes) -> None:
        """Return for payloads `randomize` can give, raise DecodeError for all others."""

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Exact probability of every payload; ParameterError beyond 65,536 payloads."""

    def inputs(self) -> Iterator[int | tuple[int, ...]]:
        """Every input the ε speaks of: any two of them are covered by it."""
