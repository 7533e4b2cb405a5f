"""Candidates for a small database: all multisets of a size, or some that public coins drew.

A candidate's answers are counts, Σ over its rows of scale · f_i. All multisets are enumerated by
halves of the domain: the answers of each half are computed once, and added for every pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations_with_replacement
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deniable_central.queries.workload import Floats, Integers, Workload
from deniable_central.samplers.uniform import uniform_multisets

if TYPE_CHECKING:
    from deniable_shared.randomness.coins import Coins

ScoreOf = Callable[[Floats], Floats]
"""Returns scores of answers [..., queries]: exact integers below 2^53 in floats."""

_CHUNK = 1 << 18


class Candidates(Protocol):
    """Small databases in a fixed order, chosen without the data."""

    def __len__(self) -> int: ...

    def scores(self, workload: Workload, score_of: ScoreOf) -> Integers: ...

    def rows(self, place: int) -> tuple[int, ...]: ...


def multisets(symbols: int, size: int) -> int:
    """Return C(symbols + size − 1, size)."""
    return math.comb(symbols + size - 1, size)


@dataclass(frozen=True, slots=True)
class AllMultisets:
    """Every multiset of `size` values of the domain, once."""

    domain: int
    size: int

    def __len__(self) -> int:
        return multisets(self.domain, self.size)

    def scores(self, workload: Workload, score_of: ScoreOf) -> Integers:
        scores = np.empty(len(self), dtype=np.int64)
        columns = workload.matrix.T.astype(np.float64)
        end = 0
        for left, right in self._halves():
            start, end = end, end + len(left) * len(right)
            part = scores[start:end].reshape(len(left), len(right))
            rows = max(1, _CHUNK // workload.queries)
            for b in range(0, len(right), rows):
                of_right = _answers(columns, right[b : b + rows])
                step = max(1, rows // len(of_right))
                for a in range(0, len(left), step):
                    pairs = _answers(columns, left[a : a + step])[:, None] + of_right
                    part[a : a + step, b : b + rows] = score_of(pairs)
        return scores

    def rows(self, place: int) -> tuple[int, ...]:
        for left, right in self._halves():
            if place < len(left) * len(right):
                a, b = divmod(place, len(right))
                return (*left[a].tolist(), *right[b].tolist())
            place -= len(left) * len(right)
        raise IndexError(place)

    def _halves(self) -> Iterator[tuple[Integers, Integers]]:
        middle = self.domain // 2
        for taken in range(self.size + 1):
            left = _ascending(middle, taken)
            if len(left):
                yield left, _ascending(self.domain - middle, self.size - taken) + middle


@dataclass(frozen=True, slots=True, eq=False)
class DrawnMultisets:
    """Multisets that public coins drew, one ascending row each; repetitions are possible."""

    chosen: Integers
    domain: int

    @classmethod
    def draw(cls, domain: int, size: int, count: int, coins: Coins) -> DrawnMultisets:
        """Draw independent, uniform multisets."""
        return cls(uniform_multisets(domain, size, count, coins), domain)

    def __len__(self) -> int:
        return len(self.chosen)

    def scores(self, workload: Workload, score_of: ScoreOf) -> Integers:
        columns = workload.matrix.T.astype(np.float64)
        size = self.chosen.shape[1]
        step = max(1, _CHUNK // (workload.queries * min(size, self.domain)))
        scores = np.empty(len(self), dtype=np.int64)
        for start in range(0, len(self), step):
            part = self.chosen[start : start + step]
            scores[start : start + step] = score_of(_answers(columns, part))
        return scores

    def rows(self, place: int) -> tuple[int, ...]:
        return tuple(self.chosen[place].tolist())


def _answers(columns: Floats, chosen: Integers) -> Floats:
    """Return the answers of multisets, float64[multisets, queries]: exact integers below 2^53."""
    domain, size = len(columns), chosen.shape[1]
    if size == 0:
        return np.zeros((len(chosen), columns.shape[1]))
    if domain > 4 * size:
        gathered: Floats = columns[chosen].sum(axis=1)
        return gathered
    places = chosen + np.arange(len(chosen))[:, None] * domain
    counts = np.bincount(places.ravel(), minlength=len(chosen) * domain)
    answers: Floats = counts.reshape(len(chosen), domain).astype(np.float64) @ columns
    return answers


@lru_cache(maxsize=64)
def _ascending(symbols: int, size: int) -> Integers:
    """Return all ascending rows of `size` symbols; one empty row for size 0."""
    count = multisets(symbols, size) if symbols else int(size == 0)
    rows = chain.from_iterable(combinations_with_replacement(range(symbols), size))
    return np.fromiter(rows, dtype=np.int64, count=count * size).reshape(count, size)
