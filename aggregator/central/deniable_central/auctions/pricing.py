"""A price for digital goods: revenue-maximising, by the exponential mechanism over a price grid.

    revenue(r) = r · #{bids ≥ r}      Pr[r] ∝ e^(ε · revenue(r)/r_max)

A replaced bid moves the revenue of all prices in the same direction, by 0 to r_max, and so does one
that is added or removed. So the range sensitivity is r_max, the noise is half of the textbook's
e^(ε·revenue/2r_max), and ε is the same under both adjacencies. McSherry, Talwar 2007.

Bidders learn the price, and buy if it is at most their bid. `misreport_gain` bounds what a false
bid can gain. For a collection of randomized choices the score is `revenue_queries` times the raw
tally, minus the public `revenue_offsets`. On average it is (p − q) · revenue. A replaced report
moves two scores apart by at most r_max, as a bid does.

Source: docs/mathematics/auctions.md, A private price.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from deniable_central.errors import MarketError
from deniable_central.pmf import Pmf
from deniable_central.release import Release
from deniable_central.selection.accuracy import mean_shortfall, shortfall
from deniable_central.selection.exponential import Exponential
from deniable_central.selection.privacy_parameters import (
    Epsilon,
    PrivacyParameters,
    privacy_parameters,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from deniable_central.auctions.price_grid import PriceGrid
    from deniable_central.guarantee import Guarantee
    from deniable_central.scores import Integers
    from deniable_shared.randomness.coins import Coins

REVENUE = "revenue below that of the best of the prices"
_MOST_BIDS = 1 << 31


@dataclass(frozen=True, slots=True)
class Pricing:
    """The mechanism without bids: `guarantee` is its cost. Built by `of`."""

    law: ClassVar[str] = "exponential mechanism over revenue"
    prices: PriceGrid
    privacy: PrivacyParameters

    @classmethod
    def of(cls, prices: PriceGrid, *, epsilon: Epsilon, adjacency: str = "replace") -> Pricing:
        apart = prices.highest
        return cls(
            prices,
            privacy_parameters(epsilon=epsilon, range_sensitivity=apart, adjacency=adjacency),
        )

    @property
    def guarantee(self) -> Guarantee:
        return self._selection.guarantee

    @property
    def _selection(self) -> Exponential:
        return Exponential(self.privacy)

    def release(self, bids: npt.ArrayLike, coins: Coins | None = None) -> Release[int]:
        """Return one price in coins, its guarantee, and how much revenue it may lose."""
        chosen = self._selection.release(revenue(bids, self.prices), coins)
        bars = tuple(replace(bar, quantity=REVENUE) for bar in chosen.error_bars)
        return Release(self.prices.grid[chosen.result], self.law, chosen.guarantee, bars)

    def pmf(self, bids: npt.ArrayLike) -> Pmf[int]:
        """The certified probability of every price: a function of the bids, not for release."""
        law = self._selection.pmf(revenue(bids, self.prices))
        return Pmf(self.prices.grid, law.lower, law.upper)

    def shortfall(self, *, beta: float) -> float:
        """Return the most revenue below the best price's, except with probability beta."""
        return shortfall(self.privacy, candidates=len(self.prices.grid), beta=beta)

    def mean_shortfall(self) -> float:
        """Return the most revenue below the best price's, on average."""
        return mean_shortfall(self.privacy, candidates=len(self.prices.grid))


def price(
    bids: npt.ArrayLike, prices: PriceGrid, *, epsilon: Epsilon, adjacency: str = "replace"
) -> Release[int]:
    """Release a price of about the largest revenue, ε-DP for each bid; bids in whole coins."""
    return Pricing.of(prices, epsilon=epsilon, adjacency=adjacency).release(bids)


def revenue(bids: npt.ArrayLike, prices: PriceGrid) -> Integers:
    """Return int64[prices]: r · #{bids ≥ r} of every price r, in coins."""
    ordered = np.sort(_whole_coins(bids, "bids"))
    grid = prices.as_array()
    buyers = len(ordered) - np.searchsorted(ordered, grid, side="left")
    scores: Integers = grid * buyers
    return scores


def revenue_queries(values: Sequence[int], prices: PriceGrid) -> Integers:
    """Return the matrix whose product with a tally of `values` is the revenue of every price."""
    worth = _whole_coins(values, "values")
    grid = prices.as_array()[:, None]
    queries: Integers = grid * (worth[None, :] >= grid)
    return queries


def revenue_offsets(
    values: Sequence[int], prices: PriceGrid, *, reports: int, q: Fraction
) -> Integers:
    """Return r · reports · q · #{values ≥ r}, rounded down: what untrue answers add on average.

    q is the probability that a report names one given untrue value. The number of reports is
    public, so this does not separate the scores of neighbours.
    """
    supported = revenue_queries(values, prices).sum(axis=1).tolist()
    offsets: Integers = np.array([math.floor(r * reports * q) for r in supported], dtype=np.int64)
    return offsets


def _whole_coins(values: npt.ArrayLike, argument: str) -> Integers:
    array = np.asarray(values)
    if not array.size:
        array = array.astype(np.int64)
    if array.ndim != 1 or not np.can_cast(array.dtype, np.int64):
        raise MarketError(
            f"{argument} must be one vector of whole coins, like 401 for $4.01, got {array.dtype} "
            f"of {array.ndim} dimension(s)"
        )
    if len(array) >= _MOST_BIDS:
        raise MarketError(f"{argument} must be fewer than 2^31")
    return array.astype(np.int64)
