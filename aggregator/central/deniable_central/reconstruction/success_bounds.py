"""What a share of recovered rows means: the luck of guessing, and the most that noise lets through.

guessing     n fair coins are right so often: binomial of n and ½
any attack   on uniform bits behind a release: it tells a bit from its opposite with the total
             variation TV of the two laws at most, so it says a row right with a probability of
             at most (1 + TV)/2. Pure ε alone gives TV ≤ tanh(ε/2), that is e^ε/(1 + e^ε).
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

from deniable_central.accounting import total_variation
from deniable_central.guarantee import Guarantee
from deniable_shared.errors import ParameterError


def best_share(guarantee: Guarantee) -> Fraction:
    """(1 + TV)/2, rounded up: no attack recovers more of uniform bits, on average."""
    return (1 + total_variation(guarantee)) / 2


def guessing_range(rows: int, *, confidence: Fraction = Fraction(95, 100)) -> tuple[int, int]:
    """The least range around n/2 that holds what guessing gets right, with that probability."""
    if rows < 1:
        raise ParameterError(f"rows must be at least 1, got {rows}")
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence must lie in (0, 1), got {confidence}")
    low = rows // 2
    inside = sum(comb(rows, hits) for hits in range(low, rows - low + 1))
    while inside < confidence * 2**rows:
        low -= 1
        inside += 2 * comb(rows, low)
    return low, rows - low
