"""The prices to choose from: finitely many whole numbers of a smallest coin.

One bid moves a revenue by up to the largest price, and every further price costs accuracy. So an
endless list like $1.00, $1.01, … has neither a sensitivity nor a bound. A geometric grid loses a
known share and grows with the logarithm of the range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import numpy as np

from deniable_central.errors import PricesError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deniable_central.scores import Integers

LARGEST_PRICE = (1 << 31) - 1
MOST_PRICES = 10**6


@dataclass(frozen=True, slots=True)
class PriceGrid:
    """Ascending prices of at least 1, in whole coins. Raises PricesError for anything else."""

    grid: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.grid) <= MOST_PRICES:
            raise PricesError(
                f"prices must be 1 to {MOST_PRICES:,}, got {'more' if self.grid else 'none'}: "
                "Prices.geometric needs few for any range"
            )
        if not all(_is_whole(price) for price in self.grid):
            raise PricesError("prices must be whole coins, like 401 for $4.01")
        if any(low >= high for low, high in pairwise(self.grid)):
            raise PricesError("prices must ascend, and differ")
        _check_range(self.grid[0], self.grid[-1])

    @classmethod
    def of(cls, prices: Iterable[int]) -> PriceGrid:
        """Return the grid of these prices. Raises PricesError for an endless list, too."""
        return cls(tuple(islice(prices, MOST_PRICES + 1)))

    @classmethod
    def every(cls, lowest: int, highest: int, *, step: int = 1) -> PriceGrid:
        """Return the grid lowest, lowest + step, … up to the highest."""
        _check_range(lowest, highest)
        if step < 1:
            raise PricesError(f"step must be at least 1 coin, got {step}")
        if (highest - lowest) // step >= MOST_PRICES:
            raise PricesError(
                f"prices from {lowest} to {highest} by {step} are more than {MOST_PRICES:,}: "
                "use Prices.geometric, or a larger step"
            )
        return cls(tuple(range(lowest, highest + 1, step)))

    @classmethod
    def geometric(cls, lowest: int, highest: int, *, ratio: Fraction) -> PriceGrid:
        """A grid in which each price is at most `ratio` times the one before, or 1 coin more.

        The best of them earns at least 1/ratio of the best price between the two.
        """
        _check_range(lowest, highest)
        if not ratio > 1:
            raise PricesError(f"ratio must be above 1, like Fraction(11, 10), got {ratio}")
        grid = [lowest]
        while grid[-1] < highest:
            if len(grid) == MOST_PRICES:
                raise PricesError(f"ratio {ratio} makes more than {MOST_PRICES:,} prices")
            grid.append(min(max(grid[-1] + 1, math.floor(grid[-1] * ratio)), highest))
        return cls(tuple(grid))

    @property
    def highest(self) -> int:
        """r_max: how far one bid moves any revenue, and the difference of any two."""
        return self.grid[-1]

    @property
    def share(self) -> Fraction:
        """The best grid price earns at least this share of the best price in the range."""
        gaps = [Fraction(low, high - 1) for low, high in pairwise(self.grid)]
        return min([Fraction(1), *gaps])

    def as_array(self) -> Integers:
        """The prices: int64[number of prices]."""
        return np.array(self.grid, dtype=np.int64)


def _check_range(lowest: int, highest: int) -> None:
    if (
        not all(_is_whole(price) for price in (lowest, highest))
        or not 1 <= lowest <= highest <= LARGEST_PRICE
    ):
        raise PricesError(
            f"prices must be whole coins from 1 to {LARGEST_PRICE:,}, lowest first, got "
            f"{lowest!r:.20} to {highest!r:.20}: an unbounded price has no sensitivity, so name "
            "the highest that could be asked"
        )


def _is_whole(price: object) -> bool:
    return isinstance(price, int) and not isinstance(price, bool)
