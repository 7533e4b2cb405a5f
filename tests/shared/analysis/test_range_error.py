"""The error of ranges: published values, where trees and Haar part, and the fan-outs.

docs/mathematics/numbers.md, Trees.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from deniable_shared.analysis.range_error import best_fan_out, tree_error
from deniable_shared.mechanisms.haar import HaarResponse
from support.tiers import grid

V0 = 1 / math.sinh(0.5) ** 2
COTH = 1 / math.tanh(0.5) ** 2
TREES = {  # units of V0
    16: {16: 2.81, 4: 2.89},
    64: {64: 10.8, 4: 6.58, 8: 6.79},
    256: {256: 42.8, 2: 12.4, 4: 11.8, 16: 14.7},
    1024: {1024: 171.0, 2: 18.9, 4: 18.5},
}
HAAR = {16: 2.23, 64: 5.21, 256: 9.57, 1024: 15.3}  # units of coth²


@pytest.mark.parametrize("leaves", TREES)
def test_errors_are_at_most_those_of_the_table(leaves: int) -> None:
    """The table has V0 for every node; with the best sets the nodes of a small level have less."""
    for fan_out, published in TREES[leaves].items():
        error = tree_error(leaves, fan_out, Fraction(1)) / V0
        assert 0.89 * published < error < 1.002 * published
    assert HaarResponse(leaves, Fraction(1)).range_error / COTH == pytest.approx(
        HAAR[leaves], rel=2e-3
    )


def test_haar_is_better_below_an_epsilon_of_about_0_9_and_a_tree_above() -> None:
    def over_haar(tenths: int) -> float:
        epsilon = Fraction(tenths, 10)
        return tree_error(256, 4, epsilon) / HaarResponse(256, epsilon).range_error

    assert over_haar(7) > 1 > over_haar(10)
    assert over_haar(40) < 0.15


@pytest.mark.parametrize("epsilon", grid(["0.3", "1", "4"], by_default=["1"]))
@pytest.mark.parametrize(
    "leaves", grid([2, 3, 16, 20, 49, 100, 257, 1000], by_default=[2, 3, 49, 100])
)
def test_the_error_of_the_fan_out_is_within_two_percent_of_the_best_of_all(
    leaves: int, epsilon: str
) -> None:
    chosen = best_fan_out(leaves, Fraction(epsilon))
    least = min(
        tree_error(leaves, b, Fraction(epsilon)) for b in {*range(2, min(leaves, 40)), leaves}
    )
    assert tree_error(leaves, chosen, Fraction(epsilon)) <= 1.02 * least


def test_few_values_are_told_all_at_once_and_many_by_fours() -> None:
    assert [best_fan_out(d, Fraction(1)) for d in (2, 5, 16, 256, 1024)] == [2, 5, 16, 4, 4]
