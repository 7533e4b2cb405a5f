"""Hadamard response of one bit: one coefficient of the choice, its true sign with probability p.

    j uniform in 1 … K − 1, public, drawn without the value        K = 2^⌈log2 d⌉
    b = parity of j AND x, sent with probability P = T/2^64, else the other bit

    p = P        q = ((K/2 − 1)P + (K/2)(1 − P))/(K − 1)        P/(1 − P) ≤ e^ε

A report supports each v for which the parity of j AND v is b: half of all codes, and x more often.
j = 0 has the same parity for every x and is never drawn. That makes q a little less than ½, and is
why the estimates of all K codes add up to 1. j does not depend on the value, so ε is that of the
one bit.

Payload: 2(j − 1) + b, big-endian, in as few whole bytes as hold 2K − 3.
Sources: Bassily, Nissim, Stemmer, Thakurta 2017; Acharya, Sun, Zhang 2019;
docs/mathematics/hadamard.md, One coefficient.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from deniable_shared.domains import INDEXED, MAX_CHOICES, bytes_for
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.base import WithoutParameters
from deniable_shared.mechanisms.structure import Design
from deniable_shared.mechanisms.symbol_payload import IndexToSymbol
from deniable_shared.randomness.dyadic import parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.randomness.coins import Coins


@dataclass(frozen=True, slots=True)
class HadamardResponse(WithoutParameters, IndexToSymbol):
    """One of d = `domain_size` choices; `codes` = K."""

    id: ClassVar[str] = "hadamard/1"
    domain_types: ClassVar[frozenset[str]] = INDEXED
    targets: ClassVar[frozenset[str]] = frozenset({"tables"})
    releasable: ClassVar[bool] = True
    alphabet_size: ClassVar[int] = 2
    domain_size: int
    epsilon: Fraction
    threshold: int = field(init=False)
    payload_size: int = field(init=False)
    codes: int = field(init=False)

    def __post_init__(self) -> None:
        d = self.domain_size
        if not 2 <= d <= MAX_CHOICES:
            raise ParameterError(f"domain_size must lie in [2, {MAX_CHOICES}], got {d}")
        codes = 1 << (d - 1).bit_length()
        object.__setattr__(self, "threshold", threshold(parse_epsilon(self.epsilon)))
        object.__setattr__(self, "payload_size", bytes_for(2 * (codes - 1)))
        object.__setattr__(self, "codes", codes)

    @property
    def tally_size(self) -> int:
        """The number of payloads; each has a count of reports."""
        return 2 * (self.codes - 1)

    @property
    def public_outcomes(self) -> int:
        """The number of coefficients without the constant one."""
        return self.codes - 1

    @property
    def q(self) -> Fraction:
        """Exact probability that a report supports one given other choice."""
        return (Fraction(self.codes, 2) - self.p) / (self.codes - 1)

    @property
    def structure(self) -> Design:
        """A coefficient splits all codes into halves; the triples of codes are alike, too."""
        return Design(
            codes=self.codes,
            support_size=self.codes // 2,
            messages=self.tally_size,
            classes=self.public_outcomes,
            triples=max(0, self.codes // 4 - 1),
        )

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Draw j by `public`, its bit by `coins`. Raises DomainError unless 0 ≤ value < d."""
        index = self._checked(value)
        place = (coins if public is None else public).below(self.codes - 1)
        flip = not coins.bernoulli(self.threshold)
        return self._payload(place, _parity(1 + place, index) ^ flip)  # pyright: ignore[reportAttributeAccessIssue]  # a class variable is as good as a property

    def _supports_value(self, place: int, symbol: int, label: int) -> bool:
        return symbol == _parity(1 + place, label)


def _parity(coefficient: int, index: int) -> int:
    return (coefficient & index).bit_count() & 1
