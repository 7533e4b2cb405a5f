"""Allocation by prices: goods of limited supply for buyers whose worths stay private.

    boards      prices of T rounds, moved by the noisy demand at the last (`price_updates`)
    afterwards  each buyer draws a round of the second half, in private, and gets what they would
                take at its prices, for those prices

No buyer prefers another option at their own round's prices. A false report gains at most the total
variation of the boards (`misreport_gain`, utilities in [0, 1]). Demand exceeds its average by more
than √(n·ln(k/β)/2) for some good with probability at most β (single goods). Supply is no hard
limit, so hold some back; welfare then shrinks by at most the same share. Taking a good from a buyer
because others took it would undo the privacy. Hsu, Huang, Roth, Roughgarden, Wu 2014; Hsu, Huang,
Roth, Wu 2016 (bundles of d goods).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_central.auctions.billboard import Billboard, Floats
from deniable_central.auctions.buyers import Buyers
from deniable_central.auctions.demand_noise import DemandNoise, noise_within
from deniable_central.auctions.menu import Choices, Menu
from deniable_central.auctions.price_updates import PriceUpdates, checked_supply
from deniable_central.errors import MarketError
from deniable_central.samplers.uniform import uniform_integers
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from deniable_central.guarantee import Guarantee
    from deniable_central.release import Release
    from deniable_central.scores import Integers
    from deniable_central.selection.privacy_parameters import Epsilon

ROUNDS = 400


@dataclass(frozen=True, slots=True, eq=False)
class AllocationPlan:
    """The public parameters: the buyers, the goods and their supply, and the noisy rounds."""

    buyers: int
    menu: Menu
    supply: Integers
    rounds: int
    noise: DemandNoise

    def __post_init__(self) -> None:
        object.__setattr__(self, "supply", checked_supply(self.supply, self.menu))

    @property
    def guarantee(self) -> Guarantee:
        return self.billboard.guarantee

    @property
    def course(self) -> PriceUpdates:
        """The step of the prices, and the accuracy that it guarantees."""
        return PriceUpdates(self.menu, self.supply, self.buyers, self.rounds, self.noise.variance)

    @property
    def billboard(self) -> Billboard:
        """The billboard of the noisy prices, from the first round on."""
        course = self.course
        return Billboard(self.menu, self.noise, self.rounds, course.start(), course.next)


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """The public boards, and each buyer's own option and price, which only that buyer may see."""

    release: Release[Floats]
    choices: Choices
    paid: Floats


def allocate(  # noqa: PLR0913  (published: notebooks call it)
    worths: npt.ArrayLike,
    supply: int | Sequence[int],
    *,
    menu: Menu | None = None,
    rho: Fraction | None = None,
    epsilon: Epsilon | None = None,
    rounds: int = ROUNDS,
    coins: Coins | None = None,
) -> Allocation:
    """Allocate goods at noisy prices, jointly private for each buyer at ρ, or at pure ε.

    worths: float[buyers, options], in [0, 1], without the option "nothing" (single goods if no menu
    is given). supply: units of each good, or one number for all.
    """
    options = menu if menu is not None else singles_for(worths)
    buyers, source = Buyers(worths, options), coins or Coins.system()
    noise = noise_within(options, rounds, rho=rho, epsilon=epsilon)
    plan = AllocationPlan(len(buyers), options, checked_supply(supply, options), rounds, noise)
    return settle(plan.billboard.release(buyers.choose, source), buyers, rounds, source)


def settle(release: Release[Floats], buyers: Buyers, rounds: int, coins: Coins) -> Allocation:
    """Each buyer's own part: a private round of the second half, and the option at its prices."""
    first = rounds // 2
    own = first + uniform_integers(rounds - first, len(buyers), coins)
    choices = buyers.choose_at(release.result, own)
    paid: Floats = (buyers.menu.options[choices] * release.result[own]).sum(axis=1)
    return Allocation(release, choices, paid)


def singles_for(worths: npt.ArrayLike) -> Menu:
    """Return the menu of single goods, one for each column."""
    shape = np.shape(worths)
    if len(shape) != 2:
        raise MarketError(f"worths must have a row a buyer and a column a good, got shape {shape}")
    return Menu.singles(shape[1])
