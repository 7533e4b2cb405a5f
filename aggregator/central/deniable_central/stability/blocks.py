"""Blocks: the rows that a query sees together, by public coins or labels, never by the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deniable_central.errors import RowsError
from deniable_central.samplers.uniform import uniform_order
from deniable_central.stability.proposals import Integers, Rows, checked_rows
from deniable_shared.errors import ParameterError
from deniable_shared.randomness.coins import Coins


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The places of the rows of each block. Built by `drawn`, `consecutive` or `labelled`."""

    rows: int
    members: tuple[Integers, ...]

    def __post_init__(self) -> None:
        if not self.members or not all(len(block) for block in self.members):
            raise RowsError("blocks must be at least 1 and none of them empty")
        places = np.concatenate(self.members)
        if places.min() < 0 or places.max() >= self.rows:
            raise RowsError(f"blocks must hold places 0 to {self.rows - 1}")

    def __len__(self) -> int:
        return len(self.members)

    @property
    def overlap(self) -> int:
        """c0: the most blocks that any one row is in."""
        in_blocks = np.zeros(self.rows, dtype=np.int64)
        for block in self.members:
            in_blocks[block] += 1  # a block counts once, even if it has a row twice
        return int(in_blocks.max())

    @classmethod
    def drawn(
        cls, rows: int, blocks: int, *, partitions: int = 1, coins: Coins | None = None
    ) -> Blocks:
        """Draw `partitions` uniform partitions into `blocks` each; sizes differ by at most 1."""
        coins = coins or Coins.system()
        if partitions < 1:
            raise ParameterError(f"partitions must be at least 1, got {partitions}")
        orders = [uniform_order(rows, coins) for _ in range(partitions)]
        return cls._split(rows, blocks, orders)

    @classmethod
    def consecutive(cls, rows: int, blocks: int) -> Blocks:
        """Return one partition by the order of the rows. Use it only if that order is public."""
        return cls._split(rows, blocks, [np.arange(rows)])

    @classmethod
    def labelled(cls, labels: Rows) -> Blocks:
        """Return one partition by a public label of every row, such as a random cohort."""
        values = checked_rows(labels)
        return cls(len(values), tuple(np.flatnonzero(values == one) for one in np.unique(values)))

    @classmethod
    def _split(cls, rows: int, blocks: int, orders: list[Integers]) -> Blocks:
        if not 1 <= blocks <= rows:
            raise RowsError(f"blocks must lie in [1, rows], got {blocks} of {rows} rows")
        return cls(rows, tuple(part for order in orders for part in np.array_split(order, blocks)))
