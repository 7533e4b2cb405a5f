"""Routing with tolls: roads are goods, a path is a bundle of them, and tolls are the prices.

Every traveller has a private trip. The menu has every simple path of every public trip, so an
option does not reveal who may want it. To a traveller, a path of their own trip is worth more the
shorter it is, and any other path nothing. `allocate` does the rest. Rogers, Roth 2014; Rogers,
Roth, Ullman, Wu 2015.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_central.auctions.menu import MOST_OPTIONS, Menu
from deniable_central.errors import MarketError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Trip = tuple[str, str]
Path = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Roads:
    """One-way roads (from, to) with their lengths, and the trips that people may make."""

    roads: tuple[Trip, ...]
    lengths: tuple[float, ...]
    trips: tuple[Trip, ...]

    def __post_init__(self) -> None:
        measured = all(0 <= length < math.inf for length in self.lengths)
        if not self.roads or len(self.roads) != len(self.lengths) or not measured:
            raise MarketError("roads must each have a length of at least 0, and finite")
        if not self.trips or len(set(self.trips)) != len(self.trips):
            raise MarketError("trips must be at least one, and each be named once")
        if any(next(self.paths(trip), None) is None for trip in self.trips):
            raise MarketError("trips must each have a path along the roads")

    @property
    def menu(self) -> Menu:
        """The options: staying at home, then every path of every trip, as the roads it takes."""
        paths = self._all_paths()
        options = np.zeros((len(paths) + 1, len(self.roads)), dtype=np.int64)
        for row, (_, path) in enumerate(paths, start=1):
            options[row, list(path)] = 1
        return Menu(options)

    def worths(self, trips: Sequence[Trip], *, longest: float) -> npt.NDArray[np.float64]:
        """A row per traveller: 1 − length/longest for the paths of their own trip, 0 for others."""
        if not longest > 0:
            raise MarketError(f"longest must be positive, got {longest}")
        paths = self._all_paths()
        value = np.array([1 - sum(self.lengths[r] for r in path) / longest for _, path in paths])
        columns = {trip: place for place, trip in enumerate(self.trips)}
        owner = np.array([columns[trip] for trip, _ in paths])
        made = np.array([columns.get(trip, -1) for trip in trips])
        worths: npt.NDArray[np.float64] = np.where(made[:, None] == owner, value.clip(0), 0.0)
        return worths

    def paths(self, trip: Trip) -> Iterator[Path]:
        """Yield every path that meets no place twice, as places in `roads`."""
        start, end = trip
        return self._onward(start, end, frozenset({start}), ())

    def _onward(self, here: str, end: str, seen: frozenset[str], path: Path) -> Iterator[Path]:
        for road, (origin, target) in enumerate(self.roads):
            if origin != here or target in seen:
                continue
            if target == end:
                yield (*path, road)
            else:
                yield from self._onward(target, end, seen | {target}, (*path, road))

    def _all_paths(self) -> list[tuple[Trip, Path]]:
        paths: list[tuple[Trip, Path]] = []
        for trip in self.trips:
            for path in self.paths(trip):
                paths.append((trip, path))
                if len(paths) >= MOST_OPTIONS:
                    raise MarketError(f"roads have {MOST_OPTIONS:,} paths or more: leave some out")
        return paths
