"""The interfaces for drawing the tally of a whole population: see `simulation`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_estimators.inference.channel import Counts
    from deniable_shared.mechanisms.structure import Subset

Generator = np.random.Generator  # noqa: TID251  (planning and tests: nothing drawn here is sent)

_AT_ONCE = 1 << 18


@runtime_checkable
class TallySampler(Protocol):
    """An estimator that draws tallies faster than by the law of its messages."""

    def sample_tally(self, values: Counts, people: Counts, draws: Generator) -> Counts:
        """Return the tally of people[i] devices with answer values[i], one report each."""
        ...


@runtime_checkable
class TextTallySampler(Protocol):
    """An estimator that draws tallies of listed texts."""

    def sample_texts(self, texts: Sequence[bytes], people: Counts, draws: Generator) -> Counts:
        """Return the tally of people[i] devices with texts[i], one report each."""
        ...


def senders(values: Counts, people: Counts, *, width: int = 1) -> Iterator[Counts]:
    """Yield every person's value, in blocks that fit into memory."""
    ends, at_once = np.cumsum(people), max(1, (64 if width > 1 else 1) * _AT_ONCE // width)
    for start in range(0, int(people.sum()), at_once):
        places = np.arange(start, min(start + at_once, int(ends[-1])))
        yield values[np.searchsorted(ends, places, side="right")]


def people_by_value(values: Counts, people: Counts, size: int) -> Counts:
    """Return how many people have each value."""
    counts = np.zeros(size, dtype=np.int64)
    np.add.at(counts, values, people)
    return counts


def different_cells(cells: Counts, lies: npt.NDArray[np.bool_], g: int, draws: Generator) -> Counts:
    """Return the cells, each replaced by a random other one where `lies` is true."""
    others = draws.integers(0, g - 1, len(cells))
    return np.where(lies, others + (others >= cells), cells)


def sample_sets(
    structure: Subset, p: float, values: Counts, people: Counts, draws: Generator
) -> Counts:
    """Return a set for each person: by Floyd's algorithm, then the true choice is swapped in."""
    d, w = structure.codes, structure.support_size
    tally = np.zeros(d, dtype=np.int64)
    for truth in senders(values, people, width=d):
        inside = draws.random(len(truth)) < p
        chosen = np.zeros((len(truth), d), dtype=bool)
        rows, others = np.arange(len(truth)), d - 1
        first = draws.integers(0, others - w + 1, len(truth))
        chosen[rows, np.where(inside, others, first)] = True
        for last in range(others - w + 1, others):
            item = draws.integers(0, last + 1, len(truth))
            chosen[rows, np.where(chosen[rows, item], last, item)] = True
        moved = chosen[rows, truth].copy()
        chosen[rows, truth] = chosen[rows, others]
        chosen[rows, others] = moved
        tally += chosen.sum(axis=0)
    return tally
