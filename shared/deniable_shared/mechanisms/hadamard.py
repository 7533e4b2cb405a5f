"""Hadamard response of one bit: one coefficient of the choice, its sign told with probability p.

    j uniform in 1 … K − 1, tossed openly, without the value        K = 2^⌈log2 d⌉
    b = parity of j AND x, told with probability P = T/2^64, else the other bit

    p = P        q = ((K/2 − 1)P + (K/2)(1 − P))/(K − 1)        P/(1 − P) ≤ e^ε

A report supports each v for which the parity of j AND v is b: half of all, but for v = x likelier.
j = 0 has the same parity for every x and is never asked: that makes q a little less than ½, and is
why the estimates of all K codes add up to 1. Given j, which depends on no value, ε is that of the
one bit.

Payload: 2(j − 1) + b, big-endian, in as few whole bytes as hold 2K − 3.
Sources: Bassily, Nissim, Stemmer, Thakurta 2017; Acharya, Sun, Zhang 2019; local-dp §6.2.
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

__all__ = ["HadamardResponse"]

_SCALE = 1 << 64
_MAX_PAYLOADS = 65_536


@dataclass(frozen=True, slots=True)
class HadamardResponse:
    """One of d = `domain_size` choices; `codes` = K."""

    id: ClassVar[str] = "hadamard/1"
    domain_types: ClassVar[frozenset[str]] = INDEXED
    parameters: ClassVar[tuple[str, ...]] = ()
    symbols: ClassVar[int] = 2
    favoured: ClassVar[int] = 1
    places: ClassVar[int] = 1
    differing: ClassVar[int] = 1
    told: ClassVar[Fraction] = Fraction(1)
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

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `contract.Kind`."""
        return cls(domain_size, epsilon)

    @property
    def tally_size(self) -> int:
        """One count of reports a payload."""
        return 2 * (self.codes - 1)

    @property
    def public_choices(self) -> int:
        """The coefficients but for the constant one."""
        return self.codes - 1

    @property
    def p(self) -> Fraction:
        """Exact probability that a report supports the choice."""
        return Fraction(self.threshold, _SCALE)

    @property
    def q(self) -> Fraction:
        """Exact probability that a report supports one given other choice."""
        return (Fraction(self.codes, 2) - self.p) / (self.codes - 1)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """j by `public`, its bit by `coins`; DomainError unless 0 ≤ value < d."""
        index = self._checked(value)
        coefficient = 1 + (coins if public is None else public).below(self.codes - 1)
        flip = not coins.bernoulli(self.threshold)
        return self._payload(coefficient, _parity(coefficient, index) ^ flip)

    def renewed(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """The same coefficient; its bit kept with probability keep/2^64, else a fair coin."""
        coefficient, told = self._read(permanent)
        kept = coins.bernoulli(keep)
        drawn = coins.bits(1)  # always drawn: work must not tell the outcome
        return self._payload(coefficient, (drawn, told)[kept])

    def _payload(self, coefficient: int, told: int) -> bytes:
        return (2 * (coefficient - 1) + told).to_bytes(self.payload_size, "big")

    def _read(self, payload: bytes) -> tuple[int, int]:
        """j and b."""
        code = int.from_bytes(payload, "big")
        return 1 + (code >> 1), code & 1

    def _checked(self, value: int | Sequence[int]) -> int:
        if not isinstance(value, int) or not 0 <= value < self.domain_size:
            raise DomainError(f"value must be an index in [0, {self.domain_size - 1}]")
        return value

    def supports(self, payload: bytes, label: int) -> bool:
        """Whether a choice has the parity that is told."""
        coefficient, told = self._read(payload)
        return _parity(coefficient, label) == told

    def validate(self, payload: bytes) -> None:
        """DecodeError unless `payload` names one of K − 1 coefficients in its one length."""
        if len(payload) != self.payload_size:
            raise DecodeError(f"payload must be {self.payload_size} bytes, got {len(payload)}")
        if int.from_bytes(payload, "big") >= self.tally_size:
            raise DecodeError(f"payload must hold a number in [0, {self.tally_size - 1}]")

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Exact probability of every payload, for up to 32,768 choices; ParameterError beyond."""
        index = self._checked(value)
        if self.tally_size > _MAX_PAYLOADS:
            raise ParameterError(
                f"payloads must be at most {_MAX_PAYLOADS:,} for a pmf, got {self.tally_size:,}: "
                "use fewer choices"
            )
        likely = self.p / self.public_choices
        unlikely = (1 - self.p) / self.public_choices
        return {
            self._payload(j, told): likely if told == _parity(j, index) else unlikely
            for j in range(1, self.codes)
            for told in (0, 1)
        }

    def renewed_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Exact probability of both payloads that `renewed` can give."""
        coefficient, told = self._read(permanent)
        flip = Fraction(_SCALE - keep, 2 * _SCALE)
        return {
            self._payload(coefficient, told): 1 - flip,
            self._payload(coefficient, 1 - told): flip,
        }

    def inputs(self) -> Iterator[int]:
        """Every index."""
        return iter(range(self.domain_size))


def _parity(coefficient: int, index: int) -> int:
    return (coefficient & index).bit_count() & 1
