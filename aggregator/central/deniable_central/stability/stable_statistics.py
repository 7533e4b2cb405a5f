"""Stable statistics, one call each: the exact value of the data, or None.

No sensitivity is needed. A median that can jump from 0 to a million is fine, as long as no single
row makes it jump. `StabilityTest.distance_for` says in advance how stable the data must be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from deniable_central.errors import AdjacencyError, RowsError
from deniable_central.guarantee import Adjacency, parse_adjacency
from deniable_central.stability.proposals import (
    Answer,
    Proposal,
    Rows,
    propose_argmax,
    propose_mode,
    propose_quantile,
)
from deniable_central.stability.stability_test import StabilityTest

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from deniable_central.release import Release
    from deniable_central.stability.parameters import Delta, Epsilon

Data = TypeVar("Data")


def stable_median(
    rows: Rows, *, epsilon: Epsilon, delta: Delta, adjacency: str = "replace"
) -> Release[int | None]:
    """Release the lower median, the row of rank ⌈n/2⌉; (ε, δ)-DP for replace."""
    test = _test_of_ranks(epsilon, delta, adjacency)
    return test.release(propose_quantile(rows), of="stable median")


def stable_quantile(
    rows: Rows, quantile: Fraction, *, epsilon: Epsilon, delta: Delta, adjacency: str = "replace"
) -> Release[int | None]:
    """Release the row of rank ⌈quantile · n⌉; (ε, δ)-DP for replace."""
    test = _test_of_ranks(epsilon, delta, adjacency)
    return test.release(propose_quantile(rows, quantile), of=f"stable quantile {quantile}")


def stable_mode(
    rows: Rows, *, epsilon: Epsilon, delta: Delta, adjacency: str = "replace"
) -> Release[int | None]:
    """Release the most frequent value; (ε, δ)-DP for the declared adjacency."""
    test = StabilityTest.of(epsilon=epsilon, delta=delta, adjacency=parse_adjacency(adjacency))
    return test.release(propose_mode(rows, adjacency=test.adjacency), of="stable mode")


def stable_argmax(
    counts: Rows,
    *,
    range_sensitivity: int,
    epsilon: Epsilon,
    delta: Delta,
    adjacency: str = "replace",
) -> Release[int | None]:
    """Release the place of the largest of raw counts; see `propose_argmax`."""
    test = StabilityTest.of(epsilon=epsilon, delta=delta, adjacency=parse_adjacency(adjacency))
    proposal = propose_argmax(counts, range_sensitivity=range_sensitivity)
    return test.release(proposal, of="stable argmax")


def propose_test_release(
    data: Data,
    *,
    answer: Callable[[Data], Answer],
    distance: Callable[[Data], int],
    epsilon: Epsilon,
    delta: Delta,
    adjacency: str = "replace",
) -> Release[Answer | None]:
    """Release any answer whose distance to the next answer you can compute, or bound from below.

    The guarantee is (ε, δ)-DP **if** the two functions fulfil two conditions: on neighbours the
    distances differ by at most 1, and if the answers differ both distances are at most 1.
    `find_violation` searches all small data sets for a counterexample: call it in your tests.
    """
    test = StabilityTest.of(epsilon=epsilon, delta=delta, adjacency=parse_adjacency(adjacency))
    return test.release(Proposal(answer(data), _whole(distance(data))))


def _whole(distance: object) -> int:
    if not isinstance(distance, int | np.integer):
        raise RowsError(
            f"distance must return whole numbers of rows, got {type(distance).__name__}: round down"
        )
    return int(distance)


def _test_of_ranks(epsilon: Epsilon, delta: Delta, adjacency: str) -> StabilityTest:
    neighbours = parse_adjacency(adjacency)
    if neighbours is not Adjacency.REPLACE:
        raise AdjacencyError(
            "the rank of a quantile is a function of n, so its stability speaks of replace only, "
            f'got {adjacency!r}: use adjacency "replace" where n is public, else stable_mode or '
            "central.selection over counts"
        )
    return StabilityTest.of(epsilon=epsilon, delta=delta, adjacency=neighbours)
