"""Brute-force distances for stable answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations, product

Rows = tuple[int, ...]


def rows_to_change(
    answer: Callable[[Rows], object], rows: Rows, domain: Sequence[int]
) -> int | None:
    """The fewest rows whose replacement changes the answer, by trying all; None if none does."""
    for count in range(1, len(rows) + 1):
        for places in combinations(range(len(rows)), count):
            for values in product(domain, repeat=count):
                changed = list(rows)
                for place, value in zip(places, values, strict=True):
                    changed[place] = value
                if answer(tuple(changed)) != answer(rows):
                    return count
    return None


def lower_median(rows: Rows) -> int:
    return sorted(rows)[(len(rows) + 1) // 2 - 1]


def laplace_tail(x: float) -> float:
    """Pr[Lap(1) > x]."""
    return math.exp(-x) / 2 if x >= 0 else 1 - math.exp(x) / 2


def laplace_chance(distance: int, epsilon: float, t: float) -> float:
    """Pr[D + Lap(1/ε) > t/ε], as the notes have it."""
    return laplace_tail(t - epsilon * distance)


def laplace_threshold(epsilon: float, delta: float) -> float:
    """t/ε for δ = e^(ε − t)/2."""
    return 1 + math.log(1 / (2 * delta)) / epsilon
