"""Optimized unary encoding: the bit of the choice is a fair coin, every other bit is rarely 1.

    p = ½        q = 1 − T/2^64        (1 − q)/q ≤ e^ε, as close as 64 bits allow

A truthful bit for the choice is not worth its ε: all of ε goes into the d − 1 other bits. For every
population, the number of ones in a report has the same law, that of a fair coin and d − 1 coins of
q: mean ½ + (d − 1)q, variance ¼ + (d − 1)q(1 − q). A deviation shows that some senders fabricate
reports.

Its chain is L-OSUE: a fair coin renewed is a fair coin, so p stays ½, and A makes q that of ε.
Sources: Wang, Blocki, Li, Jha 2017; Arcolezi et al. 2021 (chain);
docs/mathematics/direct-answers.md, Unary encodings.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from deniable_shared.mechanisms.unary import UnaryEncoding

if TYPE_CHECKING:
    from deniable_shared.randomness.coins import Coins


@dataclass(frozen=True, slots=True)
class OptimizedUnary(UnaryEncoding):
    """One of d = `domain_size` choices, q with all of ε."""

    id: ClassVar[str] = "oue/1"

    @property
    def p(self) -> Fraction:
        """Exact probability that the bit of the choice is sent as 1."""
        return Fraction(1, 2)

    def _flip_bits(self, shift: int, coins: Coins) -> int:
        fair = coins.bits(1)
        others = coins.bernoulli_vector(self._flip, self.domain_size)
        return others & ~(1 << shift) | fair << shift
