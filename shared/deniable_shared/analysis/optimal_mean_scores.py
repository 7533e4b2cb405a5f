"""The scores of `optimal-mean/1`: the numbers of its outputs that minimize the worst variance.

The mechanism favours a window of w of M outputs, r times as likely as the others. With scores a_y,
a_{M−1−y} = −a_y, D = M + (r − 1)w and W_c the sum of the scores of the window from c on,

    x_c = (r − 1)·W_c/D                        the answer that favours the window from c on
    s_c = (Σ a² + (r − 1)·Σ_window a²)/D       the second moment of its reports

s is linear between x_c and x_{c+1}, with slope a_{c+w} + a_c. The variance s(x) − x² has the same
maximum V on all such lines if each two neighbouring slopes add up to 4x_c. So the scores give

    the least s in the middle     for x_0 = −1
    and 4x_c = a_{c−1} + a_{c−1+w} + a_c + a_{c+w} for 1 ≤ c < (M − w)/2

The objective has only squares. So with one multiplier for each condition there is a linear system
of (M − w)/2 unknowns, solved in exact fractions. A score is its solution times 2^20, rounded to an
integer. Neither privacy nor bias depends on r and the integers, only the variance does.

Windows of equal weight suffice: in a linear program over all mechanisms that keep ε, a row of an
optimum has two levels, and of all sets of one weight and one mean an interval has the least second
moment. Checked against that program in tests/estimators/mechanisms/test_optimal_mean.py;
docs/mathematics/numbers.md, Scores of least worst variance.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ONE = 1 << 20
"""The score of an answer at the upper end without noise."""

Row = list[int]


@lru_cache(maxsize=64)
def scores_for(outputs: int, window: int, ratio: Fraction) -> tuple[int, ...]:
    """Return a_0 … a_{M−1} for 1 ≤ w ≤ M/2 and r = `ratio` > 1; their sum is 0."""
    half = outputs // 2
    rows, right = _conditions(outputs, window, ratio)
    weights = _weights(outputs, window, ratio)
    halves = _least(rows, right, weights)
    upper = [int((2 * ONE * halves[place] + 1) // 2) for place in range(half)]
    middle = [0] * (outputs % 2)
    return (*(-score for score in upper), *middle, *reversed(upper))


def _unit(outputs: int, place: int) -> Row:
    """Return a_place as a combination of the upper half of the scores, the highest first."""
    row = [0] * (outputs // 2)
    mirror = outputs - 1 - place
    if place < mirror:
        row[place] = -1
    elif mirror < place:
        row[mirror] = 1
    return row


def _sum(rows: Sequence[Row]) -> Row:
    return [sum(column) for column in zip(*rows, strict=True)]


def _conditions(
    outputs: int, window: int, ratio: Fraction
) -> tuple[list[list[Fraction]], list[Fraction]]:
    """Return left and right sides of the linear conditions, in units of 1/D."""
    more, whole = ratio - 1, outputs + (ratio - 1) * window
    units = [_unit(outputs, place) for place in range(outputs)]
    sums = [_sum(units[start : start + window]) for start in range(outputs - window + 1)]
    slopes = [_sum([units[c], units[c + window]]) for c in range(outputs - window)]
    rows = [[more * part for part in sums[0]]]
    for start in range(1, (outputs - window + 1) // 2):
        both = _sum([slopes[start - 1], slopes[start]])
        rows.append(
            [4 * more * part - whole * s for part, s in zip(sums[start], both, strict=True)]
        )
    return rows, [-whole, *[Fraction(0)] * (len(rows) - 1)]


def _weights(outputs: int, window: int, ratio: Fraction) -> list[Fraction]:
    """The weight of each squared score of the upper half in s in the middle, in units of 1/D."""
    start = (outputs - window) // 2
    near = range(start, start + window)
    return [
        2 + (ratio - 1) * ((place in near) + (outputs - 1 - place in near))
        for place in range(outputs // 2)
    ]


def _least(
    rows: list[list[Fraction]], right: list[Fraction], weights: list[Fraction]
) -> list[Fraction]:
    """Return the z of least Σ weight·z² with rows·z = right: z = rowsᵀλ/weight."""
    gram = [
        [sum((a * b / k for a, b, k in zip(one, other, weights, strict=True)), Fraction())
         for other in rows]
        for one in rows
    ]  # fmt: skip
    multipliers = _solved(gram, right)
    return [
        sum((row[place] * many for row, many in zip(rows, multipliers, strict=True)), Fraction())
        / weight
        for place, weight in enumerate(weights)
    ]


def _solved(gram: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Return λ with gram·λ = right.

    The matrix has no negative direction, so a pivot of 0 is a row of 0: a condition that follows
    from the others.
    """
    left, constants = [row[:] for row in gram], right[:]
    size = len(left)
    for pivot in range(size):
        if not left[pivot][pivot]:
            continue
        for row in range(pivot + 1, size):
            factor = left[row][pivot] / left[pivot][pivot]
            constants[row] -= factor * constants[pivot]
            for column in range(pivot, size):
                left[row][column] -= factor * left[pivot][column]
    solution = [Fraction(0)] * size
    for row in reversed(range(size)):
        if left[row][row]:
            rest = sum((left[row][c] * solution[c] for c in range(row + 1, size)), Fraction())
            solution[row] = (constants[row] - rest) / left[row][row]
    return solution
