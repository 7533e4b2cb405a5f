"""MECHANISMS.md says what the mechanisms for numbers do."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from importlib.util import find_spec

import pytest

from deniable_shared.analysis import optimal_error
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.discrete_piecewise import best_window as searched_window
from deniable_shared.mechanisms.discrete_piecewise import worst_variance
from deniable_shared.mechanisms.haar import HaarResponse
from deniable_shared.mechanisms.optimal_mean import OptimalMean, worst_case
from deniable_shared.mechanisms.square_wave import best_reach
from deniable_shared.mechanisms.tree import TreeResponse
from support.oracles.mechanism_tables import page, rows
from support.tiers import grid

best_window = cache(searched_window)


@pytest.mark.parametrize("row", list(rows("duchi/1", 4)), ids=lambda row: row[0])
def test_numbers_for_a_mean_in_one_bit_are_those_of_the_mechanism(row: list[str]) -> None:
    mechanism = build("duchi/1", domain_size=101, epsilon=row[0])
    worst = 1 / math.tanh(float(row[0]) / 2) / 2
    errors = [worst / math.sqrt(n) for n in (1000, 100_000)]
    assert row[1:] == [f"{number:.4f}" for number in (float(mechanism.p), *errors)]


@pytest.mark.slow
@pytest.mark.parametrize("row", list(rows("discrete-piecewise/1", 6)), ids=lambda row: row[0])
def test_numbers_for_a_mean_by_a_window_are_those_of_the_mechanism(row: list[str]) -> None:
    outputs, window = best_window(Fraction(row[0]))
    mechanism = build("discrete-piecewise/1", domain_size=101, epsilon=row[0])
    worst = math.sqrt(worst_variance(Fraction(row[0]), outputs, window)) / 2
    errors = [worst / math.sqrt(n) for n in (1000, 100_000)]
    numbers = [f"{number:.4f}" for number in (float(mechanism.p), *errors)]
    assert row[1:] == [str(outputs), str(window), *numbers]


@pytest.mark.parametrize("row", list(rows("optimal-mean/1", 6)), ids=lambda row: row[0])
def test_numbers_for_the_least_error_of_a_mean_are_those_of_the_mechanism(row: list[str]) -> None:
    mechanism = build("optimal-mean/1", domain_size=101, epsilon=row[0])
    assert isinstance(mechanism, OptimalMean)
    worst = math.sqrt(worst_case(Fraction(row[0]))) / 2
    errors = [worst / math.sqrt(n) for n in (1000, 100_000)]
    numbers = [f"{number:.4f}" for number in (float(mechanism.p), *errors)]
    assert row[1:] == [str(mechanism.outputs), str(mechanism.window), *numbers]


@pytest.mark.slow
@pytest.mark.parametrize("row", list(rows("optimal-mean/1", 7)), ids=lambda row: row[0])
def test_worst_cases_of_means_are_those_of_the_mechanisms(row: list[str]) -> None:
    epsilon = Fraction(row[0])
    windows = worst_case(epsilon), worst_variance(epsilon, *best_window(epsilon))
    ours = float(windows[0]), 1 / math.tanh(float(epsilon) / 2) ** 2, float(windows[1])
    assert row[1:4] == [f"{number:.4f}" for number in ours]


@pytest.mark.slow
def test_equal_scores_are_the_better_ones_only_above_nine() -> None:
    for epsilon, better in (("8.9", False), ("9.5", True)):
        equal = worst_variance(Fraction(epsilon), *best_window(Fraction(epsilon)))
        assert (equal < worst_case(Fraction(epsilon))) is better


SQUARE_WAVES = list(rows("square-wave/1", 6))


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("deniable_estimators") is None, reason="the client alone has no estimators"
)
@pytest.mark.parametrize(
    "row", grid(SQUARE_WAVES, by_default=SQUARE_WAVES[:1]), ids=lambda row: row[0]
)
def test_numbers_for_a_square_wave_are_those_of_the_estimator(row: list[str]) -> None:
    import numpy as np

    from deniable_estimators.inference.functionals import LinearEstimator
    from deniable_estimators.mechanisms import estimator_for

    mechanism = build("square-wave/1", domain_size=101, epsilon=row[0])
    of = estimator_for(mechanism)
    assert isinstance(of, LinearEstimator)
    n = 10**12
    laws = [mechanism.pmf(v) for v in range(101)]
    law = [sum(of_value[y] for of_value in laws) / 101 for y in sorted(laws[0])]
    tally = np.array([round(n * chance) for chance in law])
    steps = np.arange(101)
    weights = np.array([steps / 100, steps <= 50, steps == 50], dtype=float)
    errors = of.functionals(weights, tally, int(tally.sum())).std_errors * math.sqrt(n / 1e5)
    numbers = [f"{number:.4f}" for number in (float(mechanism.p), *errors)]
    assert row[1:] == [str(best_reach(Fraction(row[0]), 101)), *numbers]


@pytest.mark.parametrize("row", list(rows("tree/1", 6)), ids="-".join)
def test_numbers_for_ranges_are_those_of_the_mechanisms(row: list[str]) -> None:
    tree = build("tree/1", domain_size=int(row[0]), epsilon=row[1])
    haar = build("haar/1", domain_size=int(row[0]), epsilon=row[1])
    assert isinstance(tree, TreeResponse)
    assert isinstance(haar, HaarResponse)
    errors = [math.sqrt(each.range_error / 100_000) for each in (tree, haar)]
    sizes = [str(tree.fan_out), str(tree.payload_size)]
    assert row[2:] == [*sizes, *(f"{error:.4f}" for error in errors)]


def test_tables_of_numbers_are_there() -> None:
    counts = [("duchi/1", 4, 4), ("discrete-piecewise/1", 6, 5), ("square-wave/1", 6, 4)]
    counts += [("optimal-mean/1", 6, 5), ("optimal-mean/1", 7, 5)]
    counts += [("tree/1", 6, 12)]
    for id, columns, count in counts:
        assert len(list(rows(id, columns))) == count


@pytest.mark.slow
def test_the_windowed_mean_has_the_smaller_worst_case_from_its_limit_on() -> None:
    for epsilon, better in (("1.1", False), ("1.2", True)):
        window = worst_variance(Fraction(epsilon), *best_window(Fraction(epsilon)))
        assert (window < 1 / math.tanh(float(epsilon) / 2) ** 2) is better


def test_a_large_epsilon_among_a_million_labels_costs_what_is_said() -> None:
    mechanism = build("projective/1", domain_size=10**6, epsilon="6")
    _, least = optimal_error.ratio_to_optimum(mechanism.p, mechanism.q, 10**6, Fraction(6))
    assert f"a million labels cost {float(least):.4f} times the least" in page("projective/1")
