"""Selection is private as claimed and no more noisy than that: certified laws of all neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Unpack

import numpy as np
import pytest

from deniable_central.selection import (
    Exponential,
    NoiseDistribution,
    NoisyMax,
    PermuteAndFlip,
    PrivacyParameters,
    TopK,
    privacy_parameters,
)
from deniable_central.selection.privacy_parameters import SelectionArguments
from support.oracles.selection_checks import (
    Selection,
    added,
    check_bounded_range,
    check_concentrated,
    check_prefers_high_scores,
    check_private,
    check_shift_changes_nothing,
    check_tight,
    data_sets,
    far_apart,
    moved,
    ratios,
    replaced,
)
from support.tiers import by_tier, grid, rows

EITHER_WAY = (-1, 0, 1)
TOGETHER = (0, 1)
TEXTBOOK = privacy_parameters(epsilon=1, sensitivity=1)
RANGE = privacy_parameters(epsilon=1, range_sensitivity=1)
MONOTONE = privacy_parameters(epsilon=1, sensitivity=1, monotone=True, adjacency="add/remove")

SELECTIONS: dict[str, Callable[[PrivacyParameters], Selection]] = {
    "exponential": Exponential,
    "permute-and-flip": PermuteAndFlip,
    "geometric noisy max": lambda d: NoisyMax(d, NoiseDistribution.GEOMETRIC),
    "exponential noisy max": lambda d: NoisyMax(d, NoiseDistribution.EXPONENTIAL),
    "gumbel noisy max": lambda d: NoisyMax(d, NoiseDistribution.GUMBEL),
    "top-2": lambda d: TopK(d, 2),
}
each_selection = pytest.mark.parametrize("name", SELECTIONS)
each_quick_selection = pytest.mark.parametrize(
    "name", grid(SELECTIONS, by_default=SELECTIONS.keys() - {"geometric noisy max"})
)


def selection(name: str, **declared: Unpack[SelectionArguments]) -> Selection:
    return SELECTIONS[name](privacy_parameters(**declared))


def height(name: str) -> int:
    return 1 if name.startswith("geometric") else 2  # its law takes longer to enclose


@each_quick_selection
def test_scores_that_each_move_by_the_sensitivity_cost_epsilon(name: str) -> None:
    one = selection(name, epsilon=1, sensitivity=1)
    check_private(one, moved(EITHER_WAY, height=height(name)))


@each_quick_selection
def test_scores_that_move_the_same_way_cost_epsilon_at_half_the_noise(name: str) -> None:
    one = selection(name, epsilon=1, sensitivity=1, monotone=True, adjacency="add/remove")
    check_private(one, moved(TOGETHER, height=height(name)))


@each_quick_selection
def test_scores_that_part_by_the_range_cost_epsilon(name: str) -> None:
    one = selection(name, epsilon=1, range_sensitivity=2)
    check_private(one, moved((3, 4, 5), height=height(name)))


@pytest.mark.parametrize(
    ("name", "epsilon"),
    rows(
        itertools.product([name for name in SELECTIONS if name != "top-2"], ["0.5", "4"]),
        by_default=lambda row: row[1] == "4" or row[0] == "exponential",
    ),
)
def test_epsilon_is_reached_but_for_one_percent(name: str, epsilon: str) -> None:
    check_tight(selection(name, epsilon=epsilon, sensitivity=1), far_apart((-1, 1)))


def test_top_two_reach_epsilon_where_both_picks_are_unlikely() -> None:
    two = TopK(privacy_parameters(epsilon=1, sensitivity=1), 2)
    check_tight(two, [((0, 0, 400, 400, 400), (1, 1, 399, 399, 399))])


@pytest.mark.deeper
@each_selection
def test_every_replacement_in_every_small_data_set_is_hidden(name: str) -> None:
    one = selection(name, epsilon=2, sensitivity=1)
    sizes = range(1, by_tier(3, 4) if name.startswith("geometric") else by_tier(5, 6))
    pairs = ((x, y) for n in sizes for x in data_sets(3, n) for y in replaced(x))
    check_private(one, pairs)


@pytest.mark.deeper
@each_selection
def test_every_row_more_or_less_in_every_small_data_set_is_hidden(name: str) -> None:
    one = selection(name, epsilon=2, sensitivity=1, monotone=True, adjacency="add/remove")
    sizes = range(by_tier(2, 3) if name.startswith("geometric") else by_tier(4, 5))
    pairs = ((x, y) for n in sizes for x in data_sets(3, n) for y in added(x))
    check_private(one, pairs)


def test_the_mode_of_a_large_data_set_reaches_epsilon() -> None:
    mode = Exponential(privacy_parameters(epsilon=1, range_sensitivity=2))
    check_tight(mode, [((0, 80, 0), (1, 79, 0))])


@pytest.mark.parametrize("name", ["exponential", "gumbel noisy max", "top-2"])
def test_log_ratios_stay_within_epsilon_of_each_other(name: str) -> None:
    check_bounded_range(selection(name, epsilon=1, sensitivity=1), moved(EITHER_WAY))


def test_the_range_of_the_exponential_mechanism_is_epsilon_exactly() -> None:
    law = Exponential(TEXTBOOK)
    one, other = law.pmf([0, 0]), law.pmf([1, -1])
    product = max(ratios(one, other)) * max(ratios(other, one))
    assert float(product) == pytest.approx(np.e, rel=1e-15)


@each_quick_selection
def test_rho_bounds_every_divergence(name: str) -> None:
    pairs = [*moved(EITHER_WAY, height=0), *far_apart((-1, 1), gap=8)]
    check_concentrated(selection(name, epsilon=2, sensitivity=1), pairs)


@pytest.mark.parametrize("name", ["permute-and-flip", "exponential noisy max"])
def test_permute_and_flip_is_not_of_bounded_range(name: str) -> None:
    with pytest.raises(AssertionError):
        check_bounded_range(selection(name, epsilon=2, sensitivity=1), [((0, 0), (1, -1))])


@each_selection
def test_higher_scores_are_likelier_and_only_differences_count(name: str) -> None:
    one = selection(name, epsilon=1, sensitivity=1)
    if name != "top-2":
        check_prefers_high_scores(one)
    check_shift_changes_nothing(one)


MEASURES = ([1, 1, 1], [1, 2, 3], [10**6, 1, 1], [Fraction(1, 3), Fraction(1, 7), Fraction(2)])


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_a_base_measure_costs_nothing(measure: list[int] | list[Fraction]) -> None:
    weighed = Exponential.of(RANGE, measure)
    check_private(weighed, moved(TOGETHER))
    check_bounded_range(weighed, moved(TOGETHER))


def test_a_base_measure_counts_candidates_that_are_not_told_apart() -> None:
    weighed = Exponential.of(TEXTBOOK, [3, 1]).pmf([2, 5]).probabilities
    copies = Exponential(TEXTBOOK).pmf([2, 2, 2, 5]).probabilities
    assert weighed == pytest.approx([copies[:3].sum(), copies[3]], rel=1e-15)


def test_a_measure_of_fractions_is_one_of_integers() -> None:
    fractions = Exponential.of(TEXTBOOK, [Fraction(1, 2), Fraction(1, 3)])
    assert fractions.pmf([4, 6]) == Exponential.of(TEXTBOOK, [3, 2]).pmf([4, 6])


def test_add_and_remove_make_a_replacement_of_twice_the_epsilon() -> None:
    mode = Exponential(MONOTONE)
    twice = Exponential(privacy_parameters(epsilon=2, sensitivity=1))
    for scores in itertools.product(range(3), repeat=3):
        assert mode.pmf(scores) == twice.pmf(scores)
    assert mode.guarantee.adjacency.rows_replaced == 2
