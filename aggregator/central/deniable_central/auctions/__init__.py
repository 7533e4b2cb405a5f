"""Auctions: privacy as a tool for setting prices and sharing out goods.

    price             a price of about the largest revenue, from private bids
    misreport_gain    what a false report can gain under any private mechanism
    WelfareLottery    an outcome for the welfare of all, exactly truthful with its payments
    allocate          limited goods at noisy prices: each buyer's part is hidden from all others
    allocate_locally  the same, with one randomized answer of every buyer and no trusted party
    match, Roads      matching by thresholds and routing by tolls, on the same `Billboard`

`Pricing`, `WelfareLottery`, `AllocationPlan` and `LocalAllocationPlan` have their `guarantee`, the
cost, before they see data. The release of an allocation is public. Choices and payments are only
for their owner.
"""

from __future__ import annotations

from deniable_central.auctions.allocation import Allocation, AllocationPlan, allocate
from deniable_central.auctions.billboard import Billboard
from deniable_central.auctions.buyers import Buyers
from deniable_central.auctions.demand_noise import (
    DemandNoise,
    GaussianNoise,
    GeometricNoise,
    noise_within,
)
from deniable_central.auctions.local_allocation import (
    LocalAllocationPlan,
    allocate_locally,
)
from deniable_central.auctions.matching import Matching, Students, match
from deniable_central.auctions.menu import Menu
from deniable_central.auctions.price_grid import PriceGrid
from deniable_central.auctions.price_updates import PriceUpdates
from deniable_central.auctions.pricing import (
    Pricing,
    price,
    revenue,
    revenue_offsets,
    revenue_queries,
)
from deniable_central.auctions.routing import Roads
from deniable_central.auctions.truthfulness import misreport_gain
from deniable_central.auctions.welfare_lottery import WelfareLottery
from deniable_central.errors import MarketError, PricesError

__all__ = [
    "Allocation",
    "AllocationPlan",
    "Billboard",
    "Buyers",
    "DemandNoise",
    "GaussianNoise",
    "GeometricNoise",
    "LocalAllocationPlan",
    "MarketError",
    "Matching",
    "Menu",
    "PriceGrid",
    "PriceUpdates",
    "PricesError",
    "Pricing",
    "Roads",
    "Students",
    "WelfareLottery",
    "allocate",
    "allocate_locally",
    "match",
    "misreport_gain",
    "noise_within",
    "price",
    "revenue",
    "revenue_offsets",
    "revenue_queries",
]
