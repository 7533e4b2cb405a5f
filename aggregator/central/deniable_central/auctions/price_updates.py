"""Price updates: from 0, by steps of demand against supply, and the accuracy they guarantee.

    p_1 = 0;  p_{t+1} = clip(p_t + η (d_t + noise − s), 0, B)       B = 2

Let G² = max over options o of ‖n·o − s‖² + k·Var(noise), η = B√(2k/T)/G, x̄ the average of what
buyers take in the second half, and OPT the best fractional allocation of the supply s. Then

    E[welfare of x̄] ≥ OPT − R                                  R = B√(2k/T)·G
    E[Σ_j (demand_j − s_j)₊] ≤ (R + B·k·√(Var/(2T)))/(B − 1)

Proof: prices follow the gradient of the Lagrangian and have no regret, while buyers choose best.
The fixed price 0 gives the first line. The price B on over-demanded goods gives the second, as an
over-demanded unit is worth at most 1. With σ² = T/ρ, R falls to √2·B·k/√ρ as T grows, for every n.

Source: docs/mathematics/auctions.md, Allocation at prices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_central.accounting.parameters import read_count
from deniable_central.errors import MarketError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_central.auctions.billboard import Floats
    from deniable_central.auctions.menu import Menu
    from deniable_central.scores import Integers

HIGHEST = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class PriceUpdates:
    """The updates of `rounds` rounds; variance is that of the noise on one good's demand."""

    menu: Menu
    supply: Integers
    buyers: int
    rounds: int
    variance: float

    def __post_init__(self) -> None:
        read_count(self.buyers, argument="buyers")
        read_count(self.rounds, argument="rounds")

    @property
    def gradient(self) -> float:
        """G, a bound on the root mean square of a noisy gradient: demand averages options."""
        farthest = ((self.buyers * self.menu.options - self.supply) ** 2).sum(axis=1).max()
        return math.sqrt(float(farthest) + self.menu.goods * self.variance)

    @property
    def step(self) -> float:
        """η, the step."""
        return HIGHEST * math.sqrt(2 * self.menu.goods / self.rounds) / self.gradient

    @property
    def regret(self) -> float:
        """R: welfare is at most this below the best, on average."""
        return HIGHEST * math.sqrt(2 * self.menu.goods / self.rounds) * self.gradient

    @property
    def over_demand(self) -> float:
        """Demand above supply, over all goods, is at most this, on average."""
        drift = HIGHEST * self.menu.goods * math.sqrt(self.variance / (2 * self.rounds))
        return (self.regret + drift) / (HIGHEST - 1)

    def start(self) -> Floats:
        return np.zeros(self.menu.goods)

    def next(self, prices: Floats, demand: Integers | Floats) -> Floats:
        """Return the prices after a noisy or estimated demand."""
        moved: Floats = np.clip(prices + self.step * (demand - self.supply), 0.0, HIGHEST)
        return moved


def checked_supply(supply: int | Sequence[int] | Integers, menu: Menu) -> Integers:
    """Return the units of every good, read-only. Raises MarketError unless whole and at least 0."""
    units: npt.NDArray[np.integer] = np.array(supply)
    if units.dtype.kind not in "iu" or units.shape not in ((), (menu.goods,)) or units.min() < 0:
        raise MarketError(
            f"supply must be whole units, at least 0, of all goods alike or of each of "
            f"{menu.goods}, got {units.dtype} of shape {units.shape}"
        )
    checked: Integers = np.broadcast_to(units.astype(np.int64), (menu.goods,)).copy()
    checked.flags.writeable = False
    return checked
