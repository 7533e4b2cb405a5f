"""How far means are from the least worst-case variance: a linear program over all mechanisms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from deniable_shared.mechanisms.discrete_piecewise import best_window, worst_variance
from deniable_shared.mechanisms.optimal_mean import worst_case
from support.tiers import grid

ANSWERS, OUTPUTS = 33, 51
REACH = {"0.1": 26.0, "0.5": 5.4, "1": 2.9, "2": 1.6, "4": 1.26, "6": 1.12}
"""Where the outputs of the program end: of those tried, where it finds the least."""

ABOVE = {"0.1": 1.001, "0.5": 1.001, "1": 1.01, "2": 1.015, "4": 1.025, "6": 1.03}
"""Our worst case over the least, at most."""

PUBLISHED = {"0.5": 16.04, "1": 3.998, "2": 0.868, "4": 0.128, "6": 0.0274}
"""By a linear program of 17 answers and 21 outputs, and what lies between the answers added."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Program:
    """least V: rows P_i with sum 1 and mean x_i, m_j ≤ P_ij ≤ e^ε·m_j, Σ P_ij·a_j² − x_i² ≤ V.

    Outputs lie on a grid, so more mechanisms are possible, and answers too, so fewer are asked of.
    """

    epsilon: float
    answers: Array
    outputs: Array

    def least(self) -> float:
        rows, columns = len(self.answers), len(self.outputs)
        cells = rows * columns
        of_row, of_column = (each.ravel() for each in np.indices((rows, columns)))
        cell = np.arange(cells)
        squares = np.tile(self.outputs**2, rows)
        weight, odds = np.full(cells, cells) + of_column, math.exp(self.epsilon)
        below = [(cell, cell, -1.0), (cell, weight, 1.0)]
        above = [(cells + cell, cell, 1.0), (cells + cell, weight, -odds)]
        row = 2 * cells + np.arange(rows)
        moment = [(2 * cells + of_row, cell, squares), (row, np.full(rows, cells + columns), -1.0)]
        means = np.tile(self.outputs, rows)
        solved = linprog(
            np.eye(1, cells + columns + 1, cells + columns)[0],
            A_ub=matrix([*below, *above, *moment], 2 * cells + rows, cells + columns + 1),
            b_ub=np.concatenate([np.zeros(2 * cells), self.answers**2]),
            A_eq=matrix(
                [(of_row, cell, 1.0), (rows + of_row, cell, means)], 2 * rows, cells + columns + 1
            ),
            b_eq=np.concatenate([np.ones(rows), self.answers]),
            method="highs",
        )
        assert solved.status == 0, solved.message
        return float(solved.fun)


def matrix(parts: list[tuple[Array, Array, Any]], rows: int, columns: int) -> Any:
    """A sparse matrix of (rows, columns, entries)."""
    entries = [np.broadcast_to(value, row.shape) for row, _, value in parts]
    places = [np.concatenate([part[axis] for part in parts]) for axis in (0, 1)]
    return coo_matrix((np.concatenate(entries), tuple(places)), shape=(rows, columns)).tocsr()


def least(epsilon: str) -> float:
    reach = REACH[epsilon]
    grid = np.linspace(-reach, reach, OUTPUTS)
    return Program(float(epsilon), np.linspace(-1, 1, ANSWERS), grid).least()


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", grid(REACH, by_default=["4"]))
def test_the_worst_case_is_within_three_percent_of_a_linear_program(
    epsilon: str,
) -> None:
    ratio = float(worst_case(Fraction(epsilon))) / least(epsilon)
    assert 0.999 < ratio <= ABOVE[epsilon]


@pytest.mark.parametrize("epsilon", list(PUBLISHED))
def test_the_worst_case_is_at_most_two_percent_above_the_published_least(epsilon: str) -> None:
    assert float(worst_case(Fraction(epsilon))) <= 1.02 * PUBLISHED[epsilon]


@pytest.mark.slow
@pytest.mark.parametrize(
    "epsilon", grid(["0.05", "0.5", "1", "2", "4", "8"], by_default=["0.05", "1", "8"])
)
def test_neither_one_bit_nor_equal_scores_have_a_smaller_worst_case(epsilon: str) -> None:
    ours = worst_case(Fraction(epsilon))
    one_bit = 1 / math.tanh(float(epsilon) / 2) ** 2
    assert float(ours) < one_bit
    assert ours < worst_variance(Fraction(epsilon), *best_window(Fraction(epsilon)))


@pytest.mark.parametrize(("epsilon", "times"), [("1", 1.16), ("2", 1.97), ("4", 8.2)])
def test_one_bit_is_as_far_from_the_least_as_the_pages_say(epsilon: str, times: float) -> None:
    one_bit = 1 / math.tanh(float(epsilon) / 2) ** 2
    assert one_bit / float(worst_case(Fraction(epsilon))) == pytest.approx(times, rel=0.02)
