"""Workloads, counts, halfspaces, and how small a database can be."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from deniable_central.queries import (
    Counts,
    CountsError,
    EnumerationError,
    Workload,
    halfspaces,
    intervals,
    least_error,
    points,
    prefixes,
    sampling_size,
    vc_sampling_size,
)
from deniable_shared.errors import ParameterError
from support.oracles.central_queries import (
    FOUR_QUERIES,
    FRACTIONS,
    all_tallies,
    exact_error,
    exchanged_tallies,
    is_halfspace,
)
from support.tiers import by_tier, grid, rows

planes = cache(halfspaces)
"""Enumerated once."""
WORKLOADS = [points(3), prefixes(3), intervals(3), FOUR_QUERIES, FRACTIONS]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_declared_sensitivity_is_the_largest_over_all_neighbours(workload: Workload) -> None:
    largest = max(
        np.abs(workload.matrix @ (np.array(one) - np.array(other))).max()
        for one, other in exchanged_tallies(3, range(1, 5))
    )
    assert Counts(np.array([1, 0, 0])).sensitivity(workload.matrix) == largest


def test_built_in_queries_are_what_they_say() -> None:
    assert points(2).matrix.tolist() == [[1, 0], [0, 1]]
    assert prefixes(3).matrix.tolist() == [[1, 0, 0], [1, 1, 0]]
    assert intervals(3).matrix.tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]]
    assert prefixes(3).values([0.5, 0.25, 0.25]).tolist() == [0.5, 0.75]
    assert FRACTIONS.values([0, 1, 0]).tolist() == [0.5, 0.25]


def test_rows_are_counted_and_counts_answer_raw() -> None:
    counts = Counts.of_rows([0, 2, 2, 1, 2], domain=4)
    assert counts.tally.tolist() == [1, 1, 3, 0]
    assert (counts.rows, counts.domain) == (5, 4)
    assert counts.observe(np.array([[1, 0, 2, 0]])).tolist() == [7]
    assert Counts.of_rows([], domain=2).rows == 0


@pytest.mark.parametrize(
    ("alpha", "size"), [("0.5", 8), ("0.4", 12), ("0.3", 21), ("0.25", 30), ("0.2", 47)]
)
def test_the_sizes_for_20_queries(alpha: str, size: int) -> None:
    assert sampling_size(20, alpha) == size


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(2, 5)])
def test_some_database_of_the_lemmas_size_answers_every_data_set(
    workload: Workload, alpha: Fraction
) -> None:
    size = sampling_size(workload.queries, alpha)
    for size_of_data in range(1, 6):
        for tally in all_tallies(3, size_of_data):
            databases = combinations_with_replacement(range(3), size)
            assert any(exact_error(workload, tally, one) <= alpha for one in databases)


def test_one_query_takes_a_row_at_least() -> None:
    assert sampling_size(1, 1) == 1
    assert sampling_size(1, "0.1") == 35


def test_the_size_is_one_more_than_where_the_union_bound_reaches_1() -> None:
    for queries, alpha in product((1, 2, 20, 10**6), ("1", "0.5", "0.05")):
        size = sampling_size(queries, alpha)
        failing = [2 * queries * math.exp(-2 * m * float(alpha) ** 2) for m in (size - 1, size)]
        assert failing[0] >= 1 > failing[1]


def test_the_least_error_is_the_inverse_of_the_size() -> None:
    assert least_error(20, sampling_size(20, "0.2")) <= 0.2
    assert least_error(20, sampling_size(20, "0.2") - 1) > 0.2


@pytest.mark.slow
@pytest.mark.deeper
def test_the_size_of_a_class_counts_its_patterns_by_sauer() -> None:
    assert vc_sampling_size(8, 4, "0.35") == sampling_size(1 + 8 + 28 + 56 + 70, "0.35")
    assert vc_sampling_size(8, 8, "0.35") == vc_sampling_size(8, 99, "0.35")
    for bits in range(1, by_tier(4, 5)):
        exact = sampling_size(halfspaces(bits).queries, "0.2")
        assert exact <= vc_sampling_size(2**bits, bits + 1, "0.2")


@pytest.mark.parametrize(
    ("bits", "count"),
    rows([(1, 4), (2, 14), (3, 104), (4, 1882)], by_default=[(1, 4), (2, 14), (3, 104)]),
)
def test_so_many_halfspaces_cut_a_cube(bits: int, count: int) -> None:
    assert planes(bits).queries == count
    assert planes(bits).domain == 2**bits


@pytest.mark.parametrize("bits", grid([1, 2, 3], by_default=[1, 2]))
def test_halfspaces_are_just_the_cuts_that_a_plane_makes(bits: int) -> None:
    corners = np.array(list(product((0, 1), repeat=bits)))
    sides = {tuple(side) for side in planes(bits).matrix.tolist()}
    for side in product((0, 1), repeat=2**bits):
        assert (side in sides) == is_halfspace(corners, side)


def test_the_halfspaces_of_the_notes_are_among_them() -> None:
    """w1·x1 + w2·x2 ≥ x3 over {0, 1}³."""
    corners = np.array(list(product((0, 1), repeat=3)))
    sides = {tuple(side) for side in planes(3).matrix.tolist()}
    grid = [step / 4 for step in range(-12, 13)]
    for w1, w2 in product(grid, grid):
        side = corners[:, 0] * w1 + corners[:, 1] * w2 >= corners[:, 2]
        assert tuple(side.astype(int).tolist()) in sides


def test_more_bits_than_can_be_enumerated_are_refused_with_the_cure() -> None:
    with pytest.raises(EnumerationError, match="vc_sampling_size"):
        halfspaces(5)


@pytest.mark.parametrize(
    "matrix", [[[0.5]], [[2]], [[-1]], [1], [[]], np.array([[1]], dtype=np.uint64)]
)
def test_queries_that_are_no_integers_of_the_scale_are_refused(matrix: object) -> None:
    with pytest.raises(CountsError, match="must"):
        Workload(np.asarray(matrix))


@pytest.mark.parametrize("scale", [0, -1, 2**40])
def test_an_impossible_scale_is_refused(scale: int) -> None:
    with pytest.raises(CountsError, match="scale must lie in"):
        Workload(np.array([[1]]), scale=scale)


@pytest.mark.parametrize("tally", [[0.5], [-1], [[1]], [2**31], [2**30, 2**30]])
def test_counts_that_are_none_are_refused(tally: object) -> None:
    with pytest.raises(CountsError, match="counts must"):
        Counts(np.asarray(tally))


def test_rows_outside_the_domain_are_refused() -> None:
    with pytest.raises(CountsError, match=r"values must lie in \[0, 2\]"):
        Counts.of_rows([0, 3], domain=3)


@pytest.mark.parametrize("alpha", [0, -0.1, 1.5, "x", float("nan")])
def test_an_alpha_that_promises_nothing_is_refused(alpha: float) -> None:
    with pytest.raises(ParameterError, match=r"alpha must lie in \(0, 1\]"):
        sampling_size(20, alpha)


def test_impossible_sizes_are_refused() -> None:
    with pytest.raises(ParameterError, match="queries must be at least 1"):
        sampling_size(0, "0.1")
    with pytest.raises(ParameterError, match="domain must be at least 1"):
        vc_sampling_size(0, 1, "0.1")
    with pytest.raises(ParameterError, match="size must be at least 1"):
        least_error(1, 0)


def test_queries_and_counts_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        points(2).matrix[0, 0] = 5
    with pytest.raises(ValueError, match="read-only"):
        Counts(np.array([1])).tally[0] = 5
