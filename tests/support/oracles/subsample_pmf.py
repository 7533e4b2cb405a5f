"""The law of `Subsample`, every subsample enumerated: for a few rows and answers only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from deniable_central.pmf import Pmf
from deniable_central.stability.sample_aggregate import (
    BlockAnswer,
    Query,
    Table,
    agreement,
    ask,
)
from deniable_central.stability.subsample import Subsample
from deniable_shared.errors import ParameterError

_MOST = 10**5


def subsample_pmf(mechanism: Subsample, table: Table, query: Query) -> Pmf[BlockAnswer | None]:
    """A function of the data, not for release; ParameterError beyond 10^5 cases."""
    shares = _shares(mechanism, table, query)
    answers = list(shares)
    _affordable(math.comb(mechanism.samples + len(answers) - 1, len(answers) - 1))
    bounds = {answer: [Fraction(0), Fraction(0)] for answer in answers if answer is not None}
    for counts in _compositions(mechanism.samples, len(answers)):
        agreed = agreement([a for a, n in zip(answers, counts, strict=True) for _ in range(n)])
        if agreed.answer is None:
            continue
        weight = _multinomial(counts, list(shares.values()))
        low, high = mechanism.chance(max(counts))
        bounds[agreed.answer][0] += weight * low
        bounds[agreed.answer][1] += weight * high
    lower, upper = zip(*bounds.values(), strict=True) if bounds else ((), ())
    one = Fraction(1)
    return Pmf((*bounds, None), (*lower, one - sum(upper)), (*upper, one - sum(lower)))


def _shares(mechanism: Subsample, table: Table, query: Query) -> dict[BlockAnswer | None, Fraction]:
    """How likely one subsample gives each answer."""
    ways = mechanism.rows**mechanism.size
    _affordable(ways)
    places = product(range(mechanism.rows), repeat=mechanism.size)
    counts = Counter(ask(query, table[list(drawn)]) for drawn in places)
    return {answer: Fraction(count, ways) for answer, count in counts.items()}


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        yield from ((first, *rest) for rest in _compositions(total - first, parts - 1))


def _multinomial(counts: Sequence[int], shares: Sequence[Fraction]) -> Fraction:
    ways, left = 1, sum(counts)
    for count in counts:
        ways *= math.comb(left, count)
        left -= count
    return ways * math.prod(
        (share**count for share, count in zip(shares, counts, strict=True)), start=Fraction(1)
    )


def _affordable(cases: int) -> None:
    if cases > _MOST:
        raise ParameterError(f"at most {_MOST:,} cases are enumerated, got {cases:,}: fewer rows")
