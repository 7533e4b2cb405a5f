"""The mean in one bit: the answer is rounded to an end at random, and that end is randomized.

    i of 0 … N     up with probability i/N, exactly; then the end is told truthfully with p

    p = T/2^64     q = 1 − p     p/q ≤ e^ε, as close as 64 bits allow     Pr[up] = q + (p − q)·i/N

N + 1 is the number of values of the domain. The share of "up" is unbiased for the mean, whatever
the distribution; nothing else can be read from it. Payload: one byte, 0 or 1.
References: Duchi, Jordan, Wainwright 2013; Ding, Kulkarni, Yekhanin 2017; local-dp §10.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Self

from deniable_shared.coins import Coins
from deniable_shared.dyadic import parse_epsilon, threshold
from deniable_shared.errors import DecodeError, DomainError, ParameterError

__all__ = ["MAX_VALUES", "OneBitMean"]

MAX_VALUES = 1 << 20
_SCALE = 1 << 64
_PAYLOADS = (b"\0", b"\1")


@dataclass(frozen=True, slots=True)
class OneBitMean:
    """One of `domain_size` equally spaced values, told as one of the two ends."""

    id: ClassVar[str] = "duchi/1"
    domain_types: ClassVar[frozenset[str]] = frozenset({"number"})
    parameters: ClassVar[tuple[str, ...]] = ()
    domain_size: int
    epsilon: Fraction
    threshold: int = field(init=False)

    def __post_init__(self) -> None:
        if not 2 <= self.domain_size <= MAX_VALUES:
            raise ParameterError(
                f"domain_size must lie in [2, {MAX_VALUES}], got {self.domain_size}"
            )
        object.__setattr__(self, "threshold", threshold(parse_epsilon(self.epsilon)))

    @classmethod
    def create(
        cls, domain_size: int, epsilon: Fraction, *, report: Fraction, given: Mapping[str, int]
    ) -> Self:
        """See `contract.Kind`."""
        return cls(domain_size, epsilon)

    @property
    def payload_size(self) -> int:
        """One byte."""
        return 1

    @property
    def tally_size(self) -> int:
        """One count: of reports that say "up"."""
        return 1

    @property
    def p(self) -> Fraction:
        """Exact probability that the end is told truthfully."""
        return Fraction(self.threshold, _SCALE)

    @property
    def q(self) -> Fraction:
        """Exact probability that the other end is told."""
        return Fraction(_SCALE - self.threshold, _SCALE)

    @property
    def symbols(self) -> int:
        """A symbol is an end."""
        return 2

    @property
    def favoured(self) -> int:
        """An end supports itself."""
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
        """Every report tells of the mean."""
        return Fraction(1)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """An end; DomainError unless 0 ≤ value ≤ N."""
        up = coins.below(self.domain_size - 1) < self._checked(value)
        return _PAYLOADS[up ^ (not coins.bernoulli(self.threshold))]

    def renewed(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """The end kept with probability keep/2^64, else either."""
        kept = coins.bernoulli(keep)
        drawn = coins.below(2)  # always drawn: work must not tell the outcome
        return _PAYLOADS[(drawn, permanent[0])[kept]]

    def _checked(self, value: int | Sequence[int]) -> int:
        if not isinstance(value, int) or not 0 <= value < self.domain_size:
            raise DomainError(f"value must be an index in [0, {self.domain_size - 1}]")
        return value

    def supports(self, payload: bytes, label: int) -> None:
        """None: a report tells of the mean, and of no label."""

    def validate(self, payload: bytes) -> None:
        """DecodeError unless `payload` is one byte, 0 or 1."""
        if payload not in _PAYLOADS:
            raise DecodeError("payload must be one byte, 0 or 1")

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Exact probability of both payloads."""
        share = Fraction(self._checked(value), self.domain_size - 1)
        up = self.q + (self.p - self.q) * share
        return {_PAYLOADS[0]: 1 - up, _PAYLOADS[1]: up}

    def renewed_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Exact probability of both payloads that `renewed` can give."""
        other = Fraction(_SCALE - keep, 2 * _SCALE)
        return {end: 1 - other if end == permanent else other for end in _PAYLOADS}

    def inputs(self) -> Iterator[int]:
        """Every index."""
        return iter(range(self.domain_size))
