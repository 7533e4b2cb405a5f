"""The error of ranges: n times the mean variance of a range of values, estimated from a hierarchy.

The mean is over all D(D + 1)/2 ranges, with uniform answers and n/h reports for each of h levels.
With F_j the share of people below value j, a range is the difference of two of them, and

    Σ_(i<j) Var(F_j − F_i) = (D + 1)·Σ_j Var(F_j) − Var(Σ_j F_j)

In a tree (`tree/1`), estimated by least squares with weights λ of each level, a functional a has

    Var = aᵀH⁻¹a − (1ᵀH⁻¹a)²/(1ᵀH⁻¹1)        H = Σ_levels λ·SᵀS, S the sums over each node

because the root is known to be 1. H⁻¹ follows node by node: with the sums over the children of
σ = 1ᵀH⁻¹1, α = 1ᵀH⁻¹a and Q = aᵀH⁻¹a, a node of weight λ has σ/(1 + λσ), α/(1 + λσ) and
Q − λα²/(1 + λσ). F_j contains all nodes whole except those on the path to j.

For Haar contrasts (`haar/1`) it is h·coth²(ε/2)·Σ_nodes ((L − R)/s)², where L and R are the sums of
a over the halves of a node of s values. Floats are enough: they choose a fan-out once, and the
manifest stores it.
Sources: Hay et al. 2010; Cormode, Kulkarni, Srivastava 2019; docs/mathematics/numbers.md, Trees.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from deniable_shared.analysis.optimal_error import best_subset_size
from deniable_shared.randomness.dyadic import SCALE, threshold

if TYPE_CHECKING:
    from collections.abc import Sequence

_AS_GOOD = Fraction(51, 50)  # fewer levels: fewer nodes to count and to read


def level_sizes(leaves: int, fan_out: int) -> tuple[int, ...]:
    """Return how many nodes each level has, from below the root to the leaves."""
    sizes = [leaves]
    while sizes[-1] > fan_out:
        sizes.append(-(-sizes[-1] // fan_out))
    return tuple(reversed(sizes))


@lru_cache(maxsize=64)
def best_fan_out(leaves: int, epsilon: Fraction) -> int:
    """Return the largest fan-out whose `tree_error` is within 2% of the smallest."""
    fan_outs = {leaves}
    for levels in range(2, leaves.bit_length() + 1):
        fan_outs.add(next(b for b in range(2, leaves + 1) if b**levels >= leaves))
    errors = {b: tree_error(leaves, b, epsilon) for b in fan_outs}
    enough = _AS_GOOD * Fraction(min(errors.values()))
    return max(b for b, error in errors.items() if error <= enough)


@lru_cache(maxsize=1024)
def node_error(nodes: int, epsilon: Fraction) -> float:
    """Return n·Var of a node's share, from the best sets of nodes at ε, without the common part.

    The covariance of all nodes is this times (I − 1/d): the common part is known, as shares add up
    to 1.
    """
    w = best_subset_size(nodes, nodes, epsilon)
    return set_error(nodes, w, threshold(epsilon, alphabet_size=nodes, support_size=w) / SCALE)


def set_error(nodes: int, size: int, p: float) -> float:
    """Return the same for sets of a given size that hold the true node with probability p."""
    gap = p - (size - p) / (nodes - 1)
    return size * (nodes - size) / (nodes * (nodes - 1) * gap * gap)


def tree_error(leaves: int, fan_out: int, epsilon: Fraction) -> float:
    """Return n times the mean variance of a range for a tree."""
    sizes = level_sizes(leaves, fan_out)
    return error_of_nodes(sizes, fan_out, [node_error(size, epsilon) for size in sizes])


def error_of_nodes(sizes: Sequence[int], fan_out: int, errors: Sequence[float]) -> float:
    """Return the same from the `node_error` of each level."""
    leaves = sizes[-1]
    tree = _Tree(sizes, fan_out, [1 / (len(sizes) * error) for error in errors])
    steps = sum(tree.of_step(place) for place in range(1, leaves))
    return _mean_of_ranges(leaves, steps, tree.of([float(leaves - v) for v in range(leaves)]))


class _Tree:
    """Variances of linear functionals, by the recursion above."""

    def __init__(self, sizes: Sequence[int], fan_out: int, weights: Sequence[float]) -> None:
        self._fan_out, self._weights = fan_out, list(reversed(weights))  # leaves first
        self._below: list[list[float]] = []  # per level above the leaves: Σσ of the children
        self._before: list[list[float]] = []  # per level: Σσ of the nodes before each
        whole = [1 / self._weights[0]] * sizes[-1]
        for weight in [*self._weights[1:], 0]:
            self._before.append([0, *accumulate(whole)])
            self._below.append(self._sums(whole))
            whole = [sigma / (1 + weight * sigma) for sigma in self._below[-1]]

    def _sums(self, values: list[float]) -> list[float]:
        b = self._fan_out
        return [sum(values[first : first + b]) for first in range(0, len(values), b)]

    def of_step(self, place: int) -> float:
        """Return the variance of the share of people below a value."""
        alpha = square = float(0)
        for weight, below, before in zip(
            [*self._weights[1:], 0], self._below, self._before, strict=True
        ):
            parent = place // self._fan_out
            full = before[place] - before[parent * self._fan_out]
            sigma, alpha = below[parent], alpha + full
            square += full - weight * alpha * alpha / (1 + weight * sigma)
            alpha /= 1 + weight * sigma
            place = parent
        return square - alpha * alpha / self._below[-1][0]

    def of(self, functional: Sequence[float]) -> float:
        """Return the variance of any functional."""
        alphas = [a / self._weights[0] for a in functional]
        squares = [a * a / self._weights[0] for a in functional]
        for weight, below in zip([*self._weights[1:], 0], self._below, strict=True):
            alphas, squares = self._sums(alphas), self._sums(squares)
            for node, sigma in enumerate(below):
                squares[node] -= weight * alphas[node] * alphas[node] / (1 + weight * sigma)
                alphas[node] /= 1 + weight * sigma
        return squares[0] - alphas[0] * alphas[0] / self._below[-1][0]


@lru_cache(maxsize=64)
def error_of_contrasts(leaves: int) -> float:
    """Return n times the mean variance of a range for Haar contrasts whose bits have no noise."""
    levels = (leaves - 1).bit_length()
    every = 1 << levels
    steps, total = float(0), float(0)
    for level in range(levels):
        size = every >> level
        for place in range(1, leaves):
            inside = place % size
            steps += (min(inside, size - inside) / size) ** 2
        for first in range(0, leaves, size):
            total += (_contrast(first, size, leaves) / size) ** 2
    return levels * _mean_of_ranges(leaves, steps, total)


def _contrast(first: int, size: int, leaves: int) -> int:
    """Return L − R of the weights D − v, which are 1 behind the last value."""

    def up_to(end: int) -> int:
        inside = min(end, leaves)
        return inside * leaves - inside * (inside - 1) // 2 + max(end - leaves, 0)

    middle = first + size // 2
    return 2 * up_to(middle) - up_to(first) - up_to(first + size)


def _mean_of_ranges(leaves: int, steps: float, together: float) -> float:
    return 2 * ((leaves + 1) * steps - together) / (leaves * (leaves + 1))
