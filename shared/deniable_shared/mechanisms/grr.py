"""Generalized randomized response: the true choice with probability p, each other one with q.

    p = T/2^64        q = (1 − p)/(d − 1)        p/q ≤ e^ε, as close as 64 bits allow

Payload: the reported index, big-endian, in as few whole bytes as hold d − 1.
References: Warner 1965 (d = 2); Kairouz, Bonawitz, Ramage 2016.
Source: docs/mathematics/direct-answers.md, One label.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from deniable_shared.domains import INDEXED, MAX_CHOICES, bytes_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.base import WithoutParameters
from deniable_shared.mechanisms.structure import OneOf
from deniable_shared.mechanisms.symbol_payload import IndexToSymbol
from deniable_shared.randomness.dyadic import SCALE, parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.randomness.coins import Coins


@dataclass(frozen=True, slots=True)
class GeneralizedResponse(WithoutParameters, IndexToSymbol):
    """One of d = `domain_size` choices."""

    id: ClassVar[str] = "grr/1"
    domain_types: ClassVar[frozenset[str]] = INDEXED
    targets: ClassVar[frozenset[str]] = frozenset({"tables", "allocations"})
    releasable: ClassVar[bool] = True
    domain_size: int
    epsilon: Fraction
    threshold: int = field(init=False)
    payload_size: int = field(init=False)

    def __post_init__(self) -> None:
        d = self.domain_size
        if not 2 <= d <= MAX_CHOICES:
            raise ParameterError(f"domain_size must lie in [2, {MAX_CHOICES}], got {d}")
        epsilon = parse_epsilon(self.epsilon)
        object.__setattr__(self, "threshold", threshold(epsilon, alphabet_size=d))
        object.__setattr__(self, "payload_size", bytes_for(d))

    @property
    def tally_size(self) -> int:
        """The number of choices; each has a count of reports."""
        return self.domain_size

    @property
    def alphabet_size(self) -> int:
        """A symbol is a choice."""
        return self.domain_size

    @property
    def q(self) -> Fraction:
        """Exact probability that one given other choice is reported."""
        return Fraction(SCALE - self.threshold, SCALE * (self.domain_size - 1))

    @property
    def structure(self) -> OneOf:
        """One choice."""
        return OneOf(self.domain_size)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Return the index or another one. Raises DomainError unless 0 ≤ value < d."""
        index = self._checked(value)
        truthful = coins.bernoulli(self.threshold)
        other = coins.below(self.domain_size - 1)  # always drawn: run time reveals nothing
        other += other >= index  # skip over the true index
        return (other, index)[truthful].to_bytes(self.payload_size, "big")

    def _supports_value(self, place: int, symbol: int, label: int) -> bool:
        return symbol == label
