"""Generalized randomized response: the true choice with probability p, each other with q.

    p = T/2^64        q = (1 − p)/(d − 1)        p/q ≤ e^ε, as close as 64 bits allow

Payload: the reported index, big-endian, in as few whole bytes as hold d − 1.
References: Warner 1965 (d = 2); Kairouz, Bonawitz, Ramage 2016.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

from deniable_shared.coins import Coins
from deniable_shared.domain import INDEXED, MAX_CHOICES, bytes_for
from deniable_shared.dyadic import parse_epsilon, threshold
from deniable_shared.errors import DecodeError, DomainError, ParameterError

__all__ = ["GeneralizedResponse"]

_SCALE = 1 << 64


@dataclass(frozen=True, slots=True)
class GeneralizedResponse:
    """One of d = `domain_size` choices."""

    id: ClassVar[str] = "grr/1"
    domain_types: ClassVar[frozenset[str]] = INDEXED
    parameters: ClassVar[tuple[str, ...]] = ()
    domain_size: int
    epsilon: Fraction
    threshold: int = field(init=False)
    payload_size: int = field(init=False)

    def __post_init__(self) -> None:
        d = self.domain_size
        if not 2 <= d <= MAX_CHOICES:
            raise ParameterError(f"domain_size must lie in [2, {MAX_CHOICES}], got {d}")
        epsilon = parse_epsilon(self.epsilon)
        object.__setattr__(self, "threshold", threshold(epsilon, messages=d))
        object.__setattr__(self, "payload_size", bytes_for(d))

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `contract.Kind`."""
        return cls(domain_size, epsilon)

    @property
    def tally_size(self) -> int:
        """One count of reports a choice."""
        return self.domain_size

    @property
    def p(self) -> Fraction:
        """Exact probability that the true choice is reported."""
        return Fraction(self.threshold, _SCALE)

    @property
    def q(self) -> Fraction:
        """Exact probability that one given other choice is reported."""
        return Fraction(_SCALE - self.threshold, _SCALE * (self.domain_size - 1))

    @property
    def symbols(self) -> int:
        """A symbol is a choice."""
        return self.domain_size

    @property
    def favoured(self) -> int:
        """A choice supports itself."""
        return 1

    @property
    def places(self) -> int:
        """The payload is one symbol."""
        return 1

    @property
    def differing(self) -> int:
        """One symbol has all of ε."""
        return 1

    @property
    def public_choices(self) -> int:
        """Nothing is told openly."""
        return 1

    @property
    def told(self) -> Fraction:
        """A report tells of every label."""
        return Fraction(1)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """The index or another one; DomainError unless 0 ≤ value < d."""
        index = self._checked(value)
        truthful = coins.bernoulli(self.threshold)
        other = coins.below(self.domain_size - 1)  # always drawn: work must not tell the outcome
        other += other >= index  # skip over the true index
        return (other, index)[truthful].to_bytes(self.payload_size, "big")

    def renewed(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """The index kept with probability keep/2^64, else any of the d."""
        kept = coins.bernoulli(keep)
        drawn = coins.below(self.domain_size)  # always drawn: work must not tell the outcome
        return (drawn, int.from_bytes(permanent, "big"))[kept].to_bytes(self.payload_size, "big")

    def _checked(self, value: int | Sequence[int]) -> int:
        if not isinstance(value, int) or not 0 <= value < self.domain_size:
            raise DomainError(f"value must be an index in [0, {self.domain_size - 1}]")
        return value

    def supports(self, payload: bytes, label: int) -> bool:
        """Whether a choice is the reported one."""
        return int.from_bytes(payload, "big") == label

    def validate(self, payload: bytes) -> None:
        """DecodeError unless `payload` is an index below d in its one possible length."""
        if len(payload) != self.payload_size:
            raise DecodeError(f"payload must be {self.payload_size} bytes, got {len(payload)}")
        if int.from_bytes(payload, "big") >= self.domain_size:
            raise DecodeError(f"payload must hold an index in [0, {self.domain_size - 1}]")

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Exact probability of every payload."""
        return self._law(self._checked(value), self.p, self.q)

    def renewed_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Exact probability of every payload that `renewed` can give."""
        drawn = Fraction(_SCALE - keep, _SCALE * self.domain_size)
        return self._law(int.from_bytes(permanent, "big"), Fraction(keep, _SCALE) + drawn, drawn)

    def _law(self, index: int, likely: Fraction, other: Fraction) -> dict[bytes, Fraction]:
        return {
            told.to_bytes(self.payload_size, "big"): likely if told == index else other
            for told in range(self.domain_size)
        }

    def inputs(self) -> Iterator[int]:
        """Every index."""
        return iter(range(self.domain_size))
