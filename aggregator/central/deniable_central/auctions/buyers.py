"""Buyers: the worth of each option to each buyer, and what each would take at given prices.

A buyer takes the option of the largest worth − price, if that is above 0; the first one wins a tie.
Worths lie in [0, 1]: others are clipped, and NaN counts as 0, so that no check reveals anything
about a buyer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_central.errors import MarketError

if TYPE_CHECKING:
    from deniable_central.auctions.menu import Choices, Menu
    from deniable_central.scores import Integers

Singles = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]


class Buyers:
    """Worths of n buyers for the options of a menu without "nothing": float64[n, options − 1]."""

    def __init__(self, worths: npt.ArrayLike, menu: Menu) -> None:
        table = np.asarray(worths, dtype=np.float64)
        if table.ndim != 2 or not len(table) or table.shape[1] != menu.size - 1:
            raise MarketError(
                f"worths must have a row a buyer and {menu.size - 1} columns, one for each option "
                f"but nothing, got shape {table.shape}"
            )
        clipped = np.clip(np.nan_to_num(table, nan=0.0), 0.0, 1.0)
        self.menu = menu
        self.worths: Singles = np.ascontiguousarray(clipped.T, dtype=np.float32)

    def __len__(self) -> int:
        return int(self.worths.shape[1])

    def choose(self, prices: Floats, *, only: Integers | None = None) -> Choices:
        """Return the option of every buyer at one board, or of some buyers."""
        worths = self.worths if only is None else self.worths[:, only]
        return self._best(worths, prices[:, None])

    def choose_at(self, boards: Floats, rounds: Integers) -> Choices:
        """Return the option of every buyer at the board of the buyer's own round."""
        return self._best(self.worths, boards[rounds].T)

    def surplus(self, choices: Choices, prices: Floats) -> Floats:
        """Return worth − price of each choice; prices has a row for each buyer."""
        paid: Floats = (self.menu.options[choices] * prices).sum(axis=1)
        surplus: Floats = self.welfare_of(choices) - paid
        return surplus

    def welfare_of(self, choices: Choices) -> Floats:
        """Return each buyer's worth of the choice."""
        padded = np.vstack([np.zeros(len(self), dtype=np.float32), self.worths])
        worth: Floats = padded[choices, np.arange(len(self))].astype(np.float64)
        return worth

    def _best(self, worths: Singles, prices: Floats) -> Choices:
        """The best options; prices have a row for each good, and one column or one per buyer."""
        costs = (self.menu.options[1:].astype(np.float64) @ prices).astype(np.float32)
        best = np.zeros(worths.shape[1], dtype=np.float32)
        choices = np.zeros(worths.shape[1], dtype=np.int16)
        for option, (worth, cost) in enumerate(zip(worths, costs, strict=True), start=1):
            surplus = worth - cost
            better = surplus > best
            np.copyto(best, surplus, where=better)
            choices[better] = option
        return choices
