"""A toy mechanism: the true choice with probability p, each other with q."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

from deniable_shared.domains import INDEXED
from deniable_shared.mechanisms.structure import OneOf
from deniable_shared.mechanisms.symbol_payload import IndexToSymbol
from deniable_shared.randomness.dyadic import threshold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from deniable_shared.randomness.coins import Coins


@dataclass(frozen=True, slots=True)
class Toy(IndexToSymbol):
    """One of up to 256 choices."""

    id: ClassVar[str] = "toy/1"
    domain_types: ClassVar[frozenset[str]] = INDEXED
    releasable: ClassVar[bool] = True
    targets: ClassVar[frozenset[str]] = frozenset({"tables"})
    payload_size: ClassVar[int] = 1
    domain_size: int
    epsilon: Fraction
    threshold: int = field(init=False)

    def __post_init__(self) -> None:
        cut = threshold(self.epsilon, alphabet_size=self.domain_size)
        object.__setattr__(self, "threshold", cut)

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        return cls(domain_size, epsilon)

    @property
    def tally_size(self) -> int:
        return self.domain_size

    @property
    def alphabet_size(self) -> int:
        return self.domain_size

    @property
    def q(self) -> Fraction:
        return (1 - self.p) / (self.domain_size - 1)

    @property
    def structure(self) -> OneOf:
        return OneOf(self.domain_size)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        index = self._checked(value)
        truthful, other = coins.bernoulli(self.threshold), coins.below(self.domain_size - 1)
        return bytes([(other + (other >= index), index)[truthful]])

    def _supports_value(self, place: int, symbol: int, label: int) -> bool:
        return symbol == label
