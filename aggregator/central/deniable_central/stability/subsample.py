"""Subsample and aggregate as in the notes: k subsamples of m rows each, drawn with repetition.

    f      how many subsamples give the most frequent answer; N two-sided geometric of decay ε/c
    c      ⌊2km/n⌋: how many subsamples may have any one row
    rule   that answer if f + N > 5k/8, else nothing

(ε, δ1 + δ2)-DP for replace, in exact numbers:

    δ1 = Pr[Bin(k, 1 − (1 − 1/n)^m) > c]      the row is in more of them: the notes ignore it
    δ2 = Pr[N > 5k/8 − ⌊k/2⌋ − c]             the most frequent answer changes, so f ≤ k/2 + c
                                              on both sides; about e^(−ε(n/(16m) − 1))/2

More subsamples make δ1 vanish and do not change δ2: δ = 10^−6 at ε = 1 needs n ≥ 226m and 8,000
subsamples. `sample_aggregate` over 82 disjoint blocks achieves the same for every n and m.

Source: docs/mathematics/stability.md, Subsamples.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import ClassVar

from deniable_central.errors import DeltaError, RowsError
from deniable_central.guarantee import Adjacency, Guarantee, round_up
from deniable_central.release import Release
from deniable_central.samplers.noise import Bounds, tail, two_sided_geometric
from deniable_central.samplers.uniform import uniform_integers
from deniable_central.stability.parameters import (
    Delta,
    Epsilon,
    read_delta,
    read_epsilon,
)
from deniable_central.stability.sample_aggregate import (
    BlockAnswer,
    Query,
    Table,
    agreement,
    ask,
)
from deniable_shared.randomness.coins import Coins

MOST_SUBSAMPLES = 1 << 24
_UP = Context(prec=50, rounding=ROUND_CEILING)
_SLACK = Decimal(10) ** -45


@dataclass(frozen=True, slots=True)
class Subsample:
    """The mechanism without data: `guarantee` is its cost; `plan` chooses `samples`."""

    law: ClassVar[str] = "subsample and aggregate, two-sided geometric"
    epsilon: Fraction
    rows: int
    size: int
    samples: int

    def __post_init__(self) -> None:
        if not 1 <= self.size <= self.rows:
            raise RowsError(f"size must lie in [1, rows], got {self.size} of {self.rows} rows")
        if not 1 <= self.samples <= MOST_SUBSAMPLES:
            raise RowsError(f"samples must lie in [1, {MOST_SUBSAMPLES:,}], got {self.samples}")
        if not self.affected:
            least = math.ceil(Fraction(self.rows, 2 * self.size))
            raise RowsError(f"samples must be at least n/(2m) = {least}, got {self.samples}")

    @classmethod
    def plan(cls, *, rows: int, size: int, epsilon: Epsilon, delta: Delta) -> Subsample:
        """Return the fewest subsamples that keep δ, within 2%.

        Raises DeltaError if no number does.
        """
        exact, allowed = read_epsilon(epsilon), read_delta(delta)
        samples = max(64, math.ceil(Fraction(rows, size)))
        while samples <= MOST_SUBSAMPLES:
            planned = cls(exact, rows, size, samples)
            if planned.delta_unstable <= allowed and planned.delta <= allowed:
                return planned
            samples += samples // 64
        raise DeltaError(_useless(exact, rows, size, allowed))

    @property
    def affected(self) -> int:
        """c, the assumed number of subsamples that have any one row, at most."""
        return 2 * self.samples * self.size // self.rows

    @property
    def decay(self) -> Fraction:
        return self.epsilon / self.affected

    @property
    def delta_many(self) -> Fraction:
        """δ1, rounded up: more than c subsamples have one given row."""
        missed = _UP.power(_UP.divide(Decimal(self.rows - 1), Decimal(self.rows)), self.size)
        held = min(Decimal(1), 1 - missed + _SLACK)
        return _binomial_tail(self.samples, held, self.affected)

    @property
    def delta_unstable(self) -> Fraction:
        """δ2, rounded up: an answer that one row decides is released all the same."""
        return round_up(self.chance(self.samples // 2 + self.affected)[1])

    @property
    def delta(self) -> Fraction:
        return self.delta_many + self.delta_unstable

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.approximate(self.epsilon, self.delta, Adjacency.REPLACE)

    def chance(self, agreeing: int) -> Bounds:
        """Return rational bounds of the chance that an answer of `agreeing` subsamples passes."""
        return tail(self.decay, 5 * self.samples // 8 + 1 - agreeing)

    def failure(self) -> float:
        """Return a bound on how often the answer is not released, if 3/4 of all subsamples give it.

        Chernoff at 11k/16, which leaves k/16 for the noise: e^(−k/128) + Pr[N ≤ −k/16].
        """
        missed = tail(self.decay, math.floor(Fraction(self.samples, 16)))[1]
        return min(1.0, math.exp(-self.samples / 128) + float(missed))

    def release(
        self, table: Table, query: Query, coins: Coins | None = None
    ) -> Release[BlockAnswer | None]:
        """Return the answer that most subsamples give, or None."""
        guarantee, coins = self.guarantee, coins or Coins.system()
        if len(table) != self.rows:
            raise RowsError(f"planned for {self.rows} rows, got a table of {len(table)}")
        answers = []
        for _ in range(self.samples):
            answers.append(ask(query, table[uniform_integers(self.rows, self.size, coins)]))
        noise = int(two_sided_geometric(self.decay, 1, coins)[0])
        answer = agreement(answers).answer
        released = Counter(answers)[answer] + noise > 5 * self.samples // 8
        return Release(answer if released else None, self.law, guarantee, ())


def subsample_aggregate(
    table: Table, query: Query, *, size: int, epsilon: Epsilon, delta: Delta
) -> Release[BlockAnswer | None]:
    """Release what `query` returns for most subsamples of `size` rows, (ε, δ)-DP for replace.

    Raises DeltaError if the mechanism is useless: size too large for so few rows.
    `sample_aggregate` does not need that condition, and runs the query a hundred times, not ten
    thousand.
    """
    planned = Subsample.plan(rows=len(table), size=size, epsilon=epsilon, delta=delta)
    return planned.release(table, query)


def _useless(epsilon: Fraction, rows: int, size: int, delta: Fraction) -> str:
    exponent = max(-math.log(2 * delta), 0.0)
    largest = rows / (16 * (exponent / float(epsilon) + 1))
    return (
        f"size must be about {math.floor(largest)} or less for {rows} rows, epsilon "
        f"{float(epsilon):g} and delta {float(delta):.2g}, got {size}: no number of subsamples up "
        f"to {MOST_SUBSAMPLES:,} will do; use sample_aggregate, whose delta depends on neither"
    )


def _binomial_tail(trials: int, chance: Decimal, above: int) -> Fraction:
    """Pr[Bin(trials, chance) > above], rounded up; above ≥ 2 · mean, so terms at least halve."""
    if above >= trials:
        return Fraction(0)
    first = above + 1
    miss = _UP.subtract(Decimal(1), chance)
    ways = _UP.create_decimal(math.comb(trials, first))
    term = _UP.multiply(ways, _power(chance, first))
    term = _UP.multiply(term, _power(miss, trials - first))
    odds, total = _UP.divide(chance, miss), term
    for successes in range(first, trials):
        ratio = _UP.divide(Decimal(trials - successes), Decimal(successes + 1))
        term = _UP.multiply(term, _UP.multiply(ratio, odds))
        total = _UP.add(total, term)
        if term < _SLACK * total:
            break
    return round_up(Fraction(min(total * (1 + 2 * _SLACK), Decimal(1))))


def _power(base: Decimal, exponent: int) -> Decimal:
    """Return base^exponent, rounded up: Decimal's own power may be off by one ulp."""
    return _UP.multiply(_UP.power(base, exponent), 1 + _SLACK)
