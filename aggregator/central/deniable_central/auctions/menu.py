"""Menu: the public options, one for each player, and how far one choice moves the demand.

options[o, g]   units of good g that option o takes; option 0 is to take nothing
demand          Σ over players of the row they chose
L1, L2²         the most that two rows differ, for one replaced player: 2 and 2 for single goods,
                2d and 2d for bundles of d
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_central.errors import MarketError

if TYPE_CHECKING:
    from deniable_central.scores import Integers

Choices = npt.NDArray[np.int16]

MOST_OPTIONS = 4096
MOST_UNITS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Menu:
    """Public options, one a row, the first all zeros; read-only."""

    options: Integers

    def __post_init__(self) -> None:
        options = np.array(self.options)
        if options.ndim != 2 or 0 in options.shape or options.dtype.kind not in "iub":
            raise MarketError(
                f"options must be integers, one option a row and one good a column, got "
                f"{options.dtype} of shape {options.shape}"
            )
        _check_size(len(options))
        if options[0].any() or options.min() < 0 or not 1 <= options.max() <= MOST_UNITS:
            raise MarketError(
                "the first option must take nothing, the others 0 to "
                f"{MOST_UNITS:,} of a good, and some option something"
            )
        options = options.astype(np.int64)
        options.flags.writeable = False
        object.__setattr__(self, "options", options)

    @classmethod
    def singles(cls, goods: int) -> Menu:
        """Nothing, or one unit of one good."""
        return cls.bundles(goods, most=1)

    @classmethod
    def bundles(cls, goods: int, *, most: int) -> Menu:
        """The menu of all sets of at most `most` goods, smaller ones first, one unit of each."""
        if not 1 <= most <= goods:
            raise MarketError(f"most must lie in [1, goods = {goods}], got {most}")
        _check_size(sum(math.comb(goods, size) for size in range(most + 1)))
        sets = [chosen for size in range(most + 1) for chosen in combinations(range(goods), size)]
        options = np.zeros((len(sets), goods), dtype=np.int64)
        for row, chosen in enumerate(sets):
            options[row, list(chosen)] = 1
        return cls(options)

    @property
    def goods(self) -> int:
        """The number of goods."""
        return int(self.options.shape[1])

    @property
    def size(self) -> int:
        """The number of options, including "nothing"."""
        return len(self.options)

    @property
    def moves(self) -> int:
        """L1: how far one replaced player moves the demand."""
        return int(max(np.abs(self.options - row).sum(axis=1).max() for row in self.options))

    @property
    def squared_moves(self) -> int:
        """L2²."""
        return int(max(((self.options - row) ** 2).sum(axis=1).max() for row in self.options))

    def demand(self, choices: Choices) -> Integers:
        """Return the units of each good that the chosen options take."""
        counted: Integers = np.bincount(choices, minlength=self.size) @ self.options
        return counted


def _check_size(options: int) -> None:
    if options > MOST_OPTIONS:
        raise MarketError(
            f"options must be at most {MOST_OPTIONS:,}, got {options:,}: offer smaller bundles, "
            "or fewer paths"
        )
