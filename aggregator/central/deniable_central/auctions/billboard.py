"""Billboard: players answer what is posted; the noisy sum of their answers decides what comes next.

    board_1 public;  board_{t+1} = update(board_t, Σ_i menu[respond_i(board_t)] + noise_t)

The boards are differentially private: in each round the menu bounds how far one player moves the
sum. Each player i computes an outcome from the boards, i's own data and i's own coins. The outcomes
are jointly private (Kearns, Pai, Roth, Ullman 2014): the boards and the outcomes of all other
players together hide i's data by the boards' (ε, δ) or ρ. Nothing else may be shown: no outcome, no
sum, no count of served players. No outcome may be withdrawn because of others'.

Source: docs/mathematics/auctions.md, Billboards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from deniable_central.accounting.parameters import read_count
from deniable_central.auctions.demand_noise import MOST_ROUNDS, DemandNoise, drawn
from deniable_central.auctions.menu import Choices, Menu
from deniable_central.errors import MarketError
from deniable_central.release import Release
from deniable_central.scores import Integers
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from deniable_central.guarantee import Guarantee

Floats = npt.NDArray[np.float64]
Board = Floats
Respond = Callable[[Board], Choices]
"""Returns what every player would take at a board, from each player's own data."""
Update = Callable[[Board, Integers], Board]
"""Returns the next board from the last and the noisy demand, and from nothing secret."""

PROTECTS = "all that one player reported"
READERS = "anyone who sees the boards, all other players and their outcomes together included"


@dataclass(frozen=True, slots=True, eq=False)
class Billboard:
    """The public rules of a coordination. `guarantee` is its cost, before any player answers."""

    law: ClassVar[str] = "billboard of noisy best responses"
    menu: Menu
    noise: DemandNoise
    rounds: int
    start: Board
    update: Update

    def __post_init__(self) -> None:
        read_count(self.rounds, argument="rounds", most=MOST_ROUNDS)
        if self.start.shape != (self.menu.goods,):
            raise MarketError(
                f"start must post one number for each of {self.menu.goods} goods, got shape "
                f"{self.start.shape}"
            )

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all boards; joint for every outcome that players compute from them."""
        return self.noise.guarantee(self.menu, self.rounds)

    def release(self, respond: Respond, coins: Coins | None = None) -> Release[Floats]:
        """Return all boards: rounds + 1 rows, the last of which has no answers yet."""
        noise = drawn(self.noise, self.rounds, self.menu.goods, coins or Coins.system())
        boards = self.posted(respond, noise)
        return Release(boards, self.law, self.guarantee, (), PROTECTS, READERS)

    def posted(self, respond: Respond, noise: Integers) -> Floats:
        """Return the boards for given noise."""
        boards = [self.start]
        for row in noise:
            demand = self.menu.demand(respond(boards[-1]))
            boards.append(self.update(boards[-1], demand + row))
        return np.array(boards)
