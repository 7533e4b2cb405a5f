"""The noise on a billboard: integers on the demand of every round, with one law for all rounds.

gaussian    σ² = T·L2²/(2ρ)      ρ-zCDP for all T rounds
geometric   decay = ε/(T·L1)     ε-DP for all T rounds
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deniable_central.accounting.parameters import read_count
from deniable_central.errors import MarketError
from deniable_central.guarantee import Adjacency, Guarantee, pure_rho
from deniable_central.samplers.noise import (
    LARGEST_DECAY,
    SMALLEST_DECAY,
    discrete_gaussian,
    two_sided_geometric,
)
from deniable_central.selection.privacy_parameters import SMALLEST_EPSILON, Epsilon
from deniable_shared.randomness.dyadic import parse_epsilon

if TYPE_CHECKING:
    from deniable_central.auctions.menu import Menu
    from deniable_central.scores import Integers
    from deniable_shared.randomness.coins import Coins

MOST_ROUNDS = 100_000
SMALLEST_RHO = Fraction(1, 10**9)


class DemandNoise(Protocol):
    """Integers added to a demand."""

    @property
    def variance(self) -> float:
        """The variance of one of them, or a bound on it."""
        ...

    def draw(self, size: int, coins: Coins) -> Integers: ...

    def guarantee(self, menu: Menu, rounds: int) -> Guarantee:
        """Return the guarantee of this many rounds, for one replaced player."""
        ...


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """The discrete Gaussian of parameter σ², whose variance is at most σ², drawn exactly."""

    sigma_squared: Fraction

    def __post_init__(self) -> None:
        if not self.sigma_squared > 0:
            raise MarketError(f"sigma_squared must be positive, got {self.sigma_squared}")

    @property
    def variance(self) -> float:
        return float(self.sigma_squared)

    def draw(self, size: int, coins: Coins) -> Integers:
        return discrete_gaussian(self.sigma_squared, size, coins)

    def guarantee(self, menu: Menu, rounds: int) -> Guarantee:
        rho = rounds * Fraction(menu.squared_moves) / (2 * self.sigma_squared)
        return Guarantee.concentrated(rho, Adjacency.REPLACE)


@dataclass(frozen=True, slots=True)
class GeometricNoise:
    """The two-sided geometric, drawn exactly."""

    decay: Fraction

    def __post_init__(self) -> None:
        if not SMALLEST_DECAY <= self.decay <= LARGEST_DECAY:
            raise MarketError(
                f"decay must lie in [2^-50, 2^50], got {float(self.decay):.3g}: a larger epsilon, "
                "fewer rounds or smaller bundles raise it"
            )

    @property
    def variance(self) -> float:
        return 1 / (2 * math.sinh(float(self.decay) / 2) ** 2)

    def draw(self, size: int, coins: Coins) -> Integers:
        return two_sided_geometric(self.decay, size, coins)

    def guarantee(self, menu: Menu, rounds: int) -> Guarantee:
        each = self.decay * menu.moves
        rho = rounds * pure_rho(each)
        return Guarantee(rounds * each, rho, Fraction(0), Adjacency.REPLACE)


def noise_within(
    menu: Menu, rounds: int, *, rho: Fraction | None = None, epsilon: Epsilon | None = None
) -> DemandNoise:
    """The least noise for which all rounds cost `rho`, or `epsilon`: exactly one is given."""
    read_count(rounds, argument="rounds", most=MOST_ROUNDS)
    if rho is not None and epsilon is None:
        return GaussianNoise(Fraction(rounds * menu.squared_moves) / (2 * _read_rho(rho)))
    if epsilon is None or rho is not None:
        raise MarketError(
            "exactly one of rho (Gaussian noise, the more accurate) and epsilon (geometric noise) "
            f"must be given, got {'neither' if rho is None else 'both'}"
        )
    exact = parse_epsilon(epsilon, low=SMALLEST_EPSILON)
    return GeometricNoise(exact / (rounds * menu.moves))


def _read_rho(rho: object) -> Fraction:
    if isinstance(rho, bool) or not isinstance(rho, Fraction | int) or rho < SMALLEST_RHO:
        raise MarketError(
            f"rho must be a Fraction of at least 10^-9, like Fraction(1, 2), got {rho!r:.40}"
        )
    return Fraction(rho)


def drawn(noise: DemandNoise, rounds: int, goods: int, coins: Coins) -> Integers:
    """Return all noise, one row a round, so that no draw follows the players' answers."""
    return np.reshape(noise.draw(rounds * goods, coins), (rounds, goods))
