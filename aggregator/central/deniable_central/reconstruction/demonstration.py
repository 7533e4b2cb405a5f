"""The demonstration: one secret, one set of questions, three ways to answer, one attack.

exact           no noise                           recovers every row
unaccounted     ε for each answer alone            recovers nearly all: without a ledger the
                                                   noise is soon too small
private         ε for all answers together         no better than guessing

What a share of recovered rows means:

guessing     n fair coins are right this often: binomial of n and ½
any attack   on uniform bits behind a release: it separates a bit from its opposite by at most the
             total variation TV of the two laws. So it guesses a row right with a probability of at
             most (1 + TV)/2. Pure ε alone gives TV ≤ tanh(ε/2), that is e^ε/(1 + e^ε).

Source: docs/mathematics/reconstruction.md, What noise leaves of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

from deniable_central.accounting import total_variation
from deniable_central.reconstruction.least_squares import reconstruct
from deniable_central.reconstruction.subsets import Integers, PrivateCounts, Subsets
from deniable_central.samplers.uniform import uniform_integers
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_central.guarantee import Guarantee
    from deniable_central.selection.privacy_parameters import Epsilon


def best_share(guarantee: Guarantee) -> Fraction:
    """Return (1 + TV)/2, rounded up: no attack recovers more of uniform bits on average."""
    return (1 + total_variation(guarantee)) / 2


def guessing_range(rows: int, *, confidence: Fraction = Fraction(95, 100)) -> tuple[int, int]:
    """The least range around n/2 with the rows that guessing gets right, at this confidence."""
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


QUERIES_PER_ROW = 4


@dataclass(frozen=True, slots=True)
class Attempt:
    """The attack on one way to answer. `epsilon` is that of all answers, None without privacy.

    std_error: of the noise on one count. at_most: the share of rows that no attack exceeds on
    average.
    """

    answers: str
    epsilon: Fraction | None
    std_error: float
    recovered: int
    at_most: Fraction


@dataclass(frozen=True, slots=True)
class Demonstration:
    """All attempts on one secret; `guessing` is how many rows 95% of guessers get right."""

    rows: int
    queries: int
    epsilon: Fraction
    guessing: tuple[int, int]
    attempts: tuple[Attempt, ...]


def demonstrate(
    *,
    rows: int = 200,
    queries: int | None = None,
    epsilon: Epsilon = "1",
    coins: Coins | None = None,
    progress: Callable[[str], None] = lambda _answers: None,
) -> Demonstration:
    """Draw a secret and subsets, answer in three ways, attack each; by default 4 queries a row.

    Calls `progress` with the kind of answers before each attack. Raises ParameterError or
    SubsetsError if an argument is out of range.
    """
    coins = coins or Coins.system()
    count = QUERIES_PER_ROW * rows if queries is None else queries
    subsets = Subsets.drawn(rows=rows, queries=count, coins=coins)
    secret = uniform_integers(2, rows, coins)
    private = PrivateCounts.of(subsets, epsilon=epsilon)
    unaccounted = PrivateCounts.unaccounted(subsets, epsilon=epsilon)
    progress("exact")
    hits = _hits(subsets, subsets.counts(secret), secret)
    attempts = [Attempt("exact", None, 0.0, hits, Fraction(1))]
    for answers, mechanism in (("unaccounted", unaccounted), ("private", private)):
        progress(answers)
        attempts.append(_attempt(answers, mechanism, secret, coins))
    return Demonstration(rows, count, private.epsilon, guessing_range(rows), tuple(attempts))


def _attempt(name: str, mechanism: PrivateCounts, secret: Integers, coins: Coins) -> Attempt:
    answers = mechanism.release(secret, coins).result
    return Attempt(
        name,
        mechanism.epsilon,
        _std_error(mechanism.decay),
        _hits(mechanism.subsets, answers, secret),
        best_share(mechanism.guarantee),
    )


def _hits(subsets: Subsets, answers: Integers, secret: Integers) -> int:
    return int((reconstruct(subsets, answers) == secret).sum())


def _std_error(decay: Fraction) -> float:
    """Return √(2z)/(1 − z), z = e^−decay."""
    rate = float(decay)
    return math.sqrt(2 * math.exp(-rate)) / -math.expm1(-rate)
