"""Brute force for linear queries: all data, all small databases, all planes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from importlib import import_module
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from deniable_central.queries import Workload

_linprog = import_module("scipy.optimize").linprog
_binomial = import_module("scipy.stats").binom

Tally = tuple[int, ...]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

FOUR_QUERIES = Workload(np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 1, 1]]))
FRACTIONS = Workload(np.array([[0, 2, 4], [4, 1, 0]]), scale=4)


def all_tallies(domain: int, rows: int) -> Iterator[Tally]:
    """Every data set of so many rows, by its tally."""
    for drawn in combinations_with_replacement(range(domain), rows):
        yield tuple(drawn.count(value) for value in range(domain))


def exchanged_tallies(domain: int, sizes: Sequence[int]) -> list[tuple[Tally, Tally]]:
    """All data sets of these sizes, with all that replacing one row makes of them."""
    return [
        (tally, moved(tally, out, into))
        for rows in sizes
        for tally in all_tallies(domain, rows)
        for out in range(domain)
        for into in range(domain)
        if tally[out] and out != into
    ]


def enlarged_tallies(domain: int, sizes: Sequence[int]) -> list[tuple[Tally, Tally]]:
    """All data sets of these sizes, with all that one row more makes of them."""
    return [
        (tally, moved(tally, None, into))
        for rows in sizes
        for tally in all_tallies(domain, rows)
        for into in range(domain)
    ]


def moved(tally: Tally, out: int | None, into: int) -> Tally:
    return tuple(count - (v == out) + (v == into) for v, count in enumerate(tally))


def error(workload: Workload, tally: Sequence[int], weights: npt.ArrayLike) -> float:
    """The worst error of any query, as a share."""
    true = workload.values(np.array(tally) / sum(tally))
    return float(np.abs(true - workload.values(weights)).max())


def exact_error(workload: Workload, tally: Tally, rows: Sequence[int]) -> Fraction:
    """The same, of the rows of a small database, as a rational."""
    n, m, scale = sum(tally), len(rows), workload.scale
    return max(
        abs(
            Fraction(int(np.dot(query, tally)), n * scale)
            - Fraction(int(query[list(rows)].sum()), m * scale)
        )
        for query in workload.matrix
    )


def is_halfspace(corners: npt.NDArray[np.int64], side: Sequence[int]) -> bool:
    """Whether a plane keeps these corners and cuts off the rest, by linear programming."""
    signs = np.where(np.array(side) == 1, 1, -1)[:, None]
    rows = np.hstack([corners, np.ones((len(corners), 1))])
    answer = _linprog(
        np.zeros(rows.shape[1]),
        A_ub=-signs * rows,
        b_ub=-np.ones(len(corners)),
        bounds=[(None, None)] * rows.shape[1],
    )
    return bool(answer.status == 0)


def binomial_tail(trials: int, chance: float, successes: int) -> float:
    """Pr[Bin(trials, chance) ≥ successes]."""
    return float(_binomial.sf(successes - 1, trials, chance))
