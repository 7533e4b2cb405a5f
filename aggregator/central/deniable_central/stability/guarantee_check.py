"""Checks on all small data whether an answer and a distance fulfil the conditions of the test."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from deniable_central.guarantee import Adjacency, parse_adjacency
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Small = tuple[int, ...]
_MOST_PAIRS = 10**7


@dataclass(frozen=True, slots=True)
class GuaranteeViolation:
    """Two neighbours for which answer and distance break the conditions."""

    rows: Small
    neighbour: Small
    reason: str


def find_violation(
    answer: Callable[[Small], object],
    distance: Callable[[Small], int],
    *,
    domain: Sequence[int],
    rows: int,
    adjacency: str = "replace",
) -> GuaranteeViolation | None:
    """The first counterexample among data sets of at most `rows` rows of the domain, or None.

    None proves nothing about larger data, but small data reveal most mistakes.
    """
    neighbours = parse_adjacency(adjacency)
    pairs = len(domain) ** rows * rows * len(domain)
    if pairs > _MOST_PAIRS:
        raise ParameterError(
            f"at most {_MOST_PAIRS:,} pairs are tried, got about {pairs:,}: fewer rows or values"
        )
    for size in range(1, rows + 1):
        for data in product(domain, repeat=size):
            for other in _neighbours(data, domain, neighbours):
                reason = _broken(answer, distance, data, other)
                if reason:
                    return GuaranteeViolation(data, other, reason)
    return None


def _neighbours(data: Small, domain: Sequence[int], adjacency: Adjacency) -> Iterator[Small]:
    for place in range(len(data)):
        before, after = data[:place], data[place + 1 :]
        if adjacency is Adjacency.ADD_REMOVE:
            yield before + after
        else:
            yield from ((*before, value, *after) for value in domain if value != data[place])


def _broken(
    answer: Callable[[Small], object], distance: Callable[[Small], int], data: Small, other: Small
) -> str | None:
    here, there = distance(data), distance(other)
    if abs(here - there) > 1:
        return f"the distance moves from {here} to {there}: one row may move it by 1"
    if answer(data) != answer(other) and max(here, there) > 1:
        return f"the answer changes, so both distances must be at most 1, got {here} and {there}"
    return None
