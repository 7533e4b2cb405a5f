"""Symmetric unary encoding, basic RAPPOR: every bit is flipped with the same probability.

    p = T/2^64        q = 1 − p        (p/q)² ≤ e^ε, as close as 64 bits allow

Two choices differ in two bits, so each bit has half of ε. It is `rr/1` on a one-hot vector, for a
choice.
Sources: Erlingsson, Pihur, Korolova 2014; docs/mathematics/direct-answers.md, Unary encodings.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from deniable_shared.mechanisms.unary import UnaryEncoding
from deniable_shared.randomness.dyadic import SCALE

if TYPE_CHECKING:
    from deniable_shared.randomness.coins import Coins


@dataclass(frozen=True, slots=True)
class SymmetricUnary(UnaryEncoding):
    """One of d = `domain_size` choices, each bit with ε/2."""

    id: ClassVar[str] = "sue/1"
    max_differing_coordinates: ClassVar[int] = 2

    @property
    def p(self) -> Fraction:
        """Exact probability that the bit of the choice is sent as 1."""
        return Fraction(self.threshold, SCALE)

    def _flip_bits(self, shift: int, coins: Coins) -> int:
        return 1 << shift ^ coins.bernoulli_vector(self._flip, self.domain_size)
