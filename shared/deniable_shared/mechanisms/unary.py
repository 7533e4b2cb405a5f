"""Unary encodings: d bits of which the chosen one is 1, each randomized independently.

    the bit of the choice is 1 with probability p, every other one with q

    ratio of two choices = p(1 − q)/((1 − p)q) ≤ e^ε: they differ in two bits

Payload: the bits, that of choice 0 most significant, zero padded to whole bytes. `sue/1` and
`oue/1` are two ways to choose p and q. In a chain each bit is kept or drawn again as a fair coin.
Sources: Erlingsson, Pihur, Korolova 2014; Wang, Blocki, Li, Jha 2017;
docs/mathematics/direct-answers.md, Unary encodings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from deniable_shared.domains import INDEXED, MAX_BITS
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.base import PackedBits, WithoutParameters
from deniable_shared.mechanisms.structure import IndependentBits
from deniable_shared.mechanisms.symbol_payload import IndexInput
from deniable_shared.randomness.dyadic import SCALE, parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.randomness.coins import Coins

_MAX_PMF_BITS = 16


@dataclass(frozen=True, slots=True)
class UnaryEncoding(WithoutParameters, PackedBits, IndexInput, ABC):
    """d = `domain_size` choices; the common part of `sue/1` and `oue/1`."""

    id: ClassVar[str]
    max_differing_coordinates: ClassVar[int]  # pyright: ignore[reportIncompatibleMethodOverride]  # a field is as good as a property
    domain_types: ClassVar[frozenset[str]] = INDEXED
    releasable: ClassVar[bool] = True
    alphabet_size: ClassVar[int] = 2
    domain_size: int
    epsilon: Fraction
    threshold: int = field(init=False)
    payload_size: int = field(init=False)
    _flip: int = field(init=False, repr=False)
    _padding: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        d = self.domain_size
        if not 2 <= d <= MAX_BITS:
            raise ParameterError(
                f"domain_size must lie in [2, {MAX_BITS}] for {self.id}, a bit a choice, got {d}: "
                "for more choices take hadamard/1"
            )
        size = (d + 7) >> 3
        share = parse_epsilon(self.epsilon) / self.max_differing_coordinates
        object.__setattr__(self, "threshold", threshold(share))
        object.__setattr__(self, "payload_size", size)
        object.__setattr__(self, "_flip", SCALE - self.threshold)
        object.__setattr__(self, "_padding", (size << 3) - d)

    @property
    def tally_size(self) -> int:
        """The number of choices; each has a count of ones."""
        return self.domain_size

    @property
    def coordinates(self) -> int:
        """One symbol per bit, one bit per choice."""
        return self.domain_size

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """Exact probability that the bit of the choice is sent as 1."""

    @property
    def q(self) -> Fraction:
        """Exact probability that one given other bit is sent as 1."""
        return Fraction(self._flip, SCALE)

    @property
    def structure(self) -> IndependentBits:
        """One bit per choice."""
        return IndependentBits(self.domain_size, exclusive=True)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Return all d bits. Raises DomainError unless 0 ≤ value < d."""
        return self._payload(self._flip_bits(self._shift(value), coins))

    @abstractmethod
    def _flip_bits(self, shift: int, coins: Coins) -> int:
        """The d bits for the choice whose bit is `shift` places from the least significant."""

    def rerandomize(self, permanent: bytes, keep: int, coins: Coins) -> bytes:
        """Keep each bit with probability keep/2^64, else draw a fair coin."""
        drawn = coins.bits(self.domain_size)  # always drawn: run time must not reveal the outcome
        kept = coins.bernoulli_vector(keep, self.domain_size)
        return self._payload(drawn ^ (drawn ^ self._bits(permanent)) & kept)

    def _payload(self, bits: int) -> bytes:
        return (bits << self._padding).to_bytes(self.payload_size, "big")

    def _bits(self, payload: bytes) -> int:
        return int.from_bytes(payload, "big") >> self._padding

    def _shift(self, value: int | Sequence[int]) -> int:
        return self.domain_size - 1 - self._checked(value)

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload.

        Raises ParameterError beyond 16 choices.
        """
        truth, d = 1 << self._shift(value), self._enumerable()
        others = [(1 - self.q) ** (d - 1 - ones) * self.q**ones for ones in range(d)]
        return {
            self._payload(bits): others[(bits & ~truth).bit_count()]
            * (self.p if bits & truth else 1 - self.p)
            for bits in range(1 << d)
        }

    def rerandomized_pmf(self, permanent: bytes, keep: int) -> dict[bytes, Fraction]:
        """Return the exact probability of every payload of `rerandomize`, for up to 16 choices."""
        truth, d = self._bits(permanent), self._enumerable()
        flip = Fraction(SCALE - keep, 2 * SCALE)
        by_flips = [(1 - flip) ** (d - flips) * flip**flips for flips in range(d + 1)]
        return {self._payload(bits): by_flips[(bits ^ truth).bit_count()] for bits in range(1 << d)}

    def _enumerable(self) -> int:
        d = self.domain_size
        if d > _MAX_PMF_BITS:
            raise ParameterError(f"domain_size must be at most {_MAX_PMF_BITS} for a pmf, got {d}")
        return d
