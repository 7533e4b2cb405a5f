"""The mean in one bit: the answer is rounded to an end at random, and that end is randomized.

    i of 0 … N     up with probability i/N, exactly; then the end is sent truthfully with p

    p = T/2^64     q = 1 − p     p/q ≤ e^ε, as close as 64 bits allow     Pr[up] = q + (p − q)·i/N

N + 1 is the number of values of the domain. The share of "up" is unbiased for the mean of every
distribution. Nothing else can be read from it. Payload: one byte, 0 or 1.
References: Duchi, Jordan, Wainwright 2013; Ding, Kulkarni, Yekhanin 2017;
docs/mathematics/numbers.md, A mean in one bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms.base import WithoutParameters
from deniable_shared.mechanisms.structure import Window
from deniable_shared.mechanisms.symbol_payload import IndexInput, SymbolPayload
from deniable_shared.randomness.dyadic import SCALE, parse_epsilon, threshold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_shared.randomness.coins import Coins

MAX_VALUES = 1 << 20
_PAYLOADS = (b"\0", b"\1")


@dataclass(frozen=True, slots=True)
class OneBitMean(WithoutParameters, IndexInput, SymbolPayload[int]):
    """One of `domain_size` equally spaced values, sent as one of the two ends."""

    id: ClassVar[str] = "duchi/1"
    domain_types: ClassVar[frozenset[str]] = frozenset({"number"})
    releasable: ClassVar[bool] = True
    targets: ClassVar[frozenset[str]] = frozenset({"mean"})
    alphabet_size: ClassVar[int] = 2
    payload_size: ClassVar[int] = 1
    domain_size: int
    epsilon: Fraction
    threshold: int = field(init=False)

    def __post_init__(self) -> None:
        if not 2 <= self.domain_size <= MAX_VALUES:
            raise ParameterError(
                f"domain_size must lie in [2, {MAX_VALUES}], got {self.domain_size}"
            )
        object.__setattr__(self, "threshold", threshold(parse_epsilon(self.epsilon)))

    @property
    def tally_size(self) -> int:
        """One count: the reports that say "up"."""
        return 1

    @property
    def q(self) -> Fraction:
        """Exact probability that the other end is sent."""
        return Fraction(SCALE - self.threshold, SCALE)

    @property
    def structure(self) -> Window:
        """One of the two ends."""
        return Window(2, 1, _even_shares)

    def randomize(
        self, value: int | Sequence[int], coins: Coins, public: Coins | None = None
    ) -> bytes:
        """Return an end. Raises DomainError unless 0 ≤ value ≤ N."""
        up = coins.below(self.domain_size - 1) < self._checked(value)
        return _PAYLOADS[up ^ (not coins.bernoulli(self.threshold))]

    def supports(self, payload: bytes, label: int) -> None:
        """None: a report is about the mean, not about a label."""

    def pmf(self, value: int | Sequence[int]) -> dict[bytes, Fraction]:
        """Return the exact probability of both payloads."""
        share = Fraction(self._checked(value), self.domain_size - 1)
        up = self.q + (self.p - self.q) * share
        return {_PAYLOADS[0]: 1 - up, _PAYLOADS[1]: up}


def _even_shares() -> tuple[Fraction, Fraction]:
    """Return the share of all values that round to each end."""
    return Fraction(1, 2), Fraction(1, 2)
