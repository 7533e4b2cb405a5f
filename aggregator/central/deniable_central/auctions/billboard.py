"""Billboard: players answer what is posted, the noisy sum of their answers decides what comes next.

    board_1 public;  board_{t+1} = update(board_t, Σ_i menu[respond_i(board_t)] + noise_t)

The boards are differentially private: in each round one player moves the sum by what the menu says.
What player i does with them, from the boards, i's own data and i's own coins, is then jointly
private (Kearns, Pai, Roth, Ullman 2014): for every i and all other players together, boards and
their own outcomes hide i's data by the boards' (ε, δ) or ρ. Nothing else may be shown: no outcome,
no sum, no count of who was served, and no outcome may be taken away because of others'.
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
"""What every player would take at a board, by each player's own data."""
Update = Callable[[Board, Integers], Board]
"""The next board, from the last and the noisy demand; a function of these and public facts."""

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
        """Of all boards; and joint, of every outcome that players compute from them."""
        return self.noise.guarantee(self.menu, self.rounds)

    def release(self, respond: Respond, coins: Coins | None = None) -> Release[Floats]:
        """Every board: rounds + 1 rows, the last of which nobody answered."""
        noise = drawn(self.noise, self.rounds, self.menu.goods, coins or Coins.system())
        boards = self.posted(respond, noise)
        return Release(boards, self.law, self.guarantee, (), PROTECTS, READERS)

    def posted(self, respond: Respond, noise: Integers) -> Floats:
        """The boards for given noise."""
        boards = [self.start]
        for row in noise:
            demand = self.menu.demand(respond(boards[-1]))
            boards.append(self.update(boards[-1], demand + row))
        return np.array(boards)
