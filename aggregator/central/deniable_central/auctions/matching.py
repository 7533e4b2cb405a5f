"""Many-to-one matching by admission thresholds: the billboard posts the required scores.

A student goes to the school they like best among those whose threshold they meet. All thresholds
start at the top. In every round each school whose noisy enrolment is below its seats, minus some
held back, lowers its threshold by one. The boards are private, so the assignment is jointly
private. No student prefers a school that would admit them. Instability is limited to empty seats
and to excess students, both within the noise and the number of students who share one score.
Kannan, Morgenstern, Roth, Wu 2015; Azevedo, Leshno 2016 (thresholds).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable_central.auctions.billboard import Billboard, Floats
from deniable_central.auctions.demand_noise import noise_within
from deniable_central.auctions.menu import Choices, Menu
from deniable_central.auctions.price_updates import checked_supply
from deniable_central.errors import MarketError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from deniable_central.release import Release
    from deniable_central.scores import Integers
    from deniable_central.selection.privacy_parameters import Epsilon
    from deniable_shared.randomness.coins import Coins

_NEVER = -np.inf


class Students:
    """How much students like schools (at most 0: not at all), and the schools' scores, [n, k].

    Scores are whole numbers from 0 to `top`; others are clipped.
    """

    def __init__(self, likes: npt.ArrayLike, scores: npt.ArrayLike, *, top: int) -> None:
        liking = np.nan_to_num(np.asarray(likes, dtype=np.float64), nan=0.0)
        graded = np.asarray(scores)
        if liking.ndim != 2 or not liking.size or liking.shape != graded.shape:
            raise MarketError(
                "likes and scores must have a row a student and a column a school, got shapes "
                f"{liking.shape} and {graded.shape}"
            )
        if not np.can_cast(graded.dtype, np.int64) or top < 1:
            raise MarketError(f"scores must be whole numbers from 0 to top, got {graded.dtype}")
        self.likes, self.top = liking, top
        self.scores = graded.astype(np.int64).clip(0, top)

    def __len__(self) -> int:
        return len(self.likes)

    def choose(self, thresholds: Floats) -> Choices:
        """Return each student's favourite among the schools that admit them; 0 for none."""
        open_to = (self.scores >= thresholds) & (self.likes > 0)
        favourites = np.where(open_to, self.likes, _NEVER)
        best = favourites.argmax(axis=1)
        choices: Choices = np.where(open_to.any(axis=1), best + 1, 0).astype(np.int16)
        return choices


@dataclass(frozen=True, slots=True, eq=False)
class Matching:
    """The public boards of thresholds, and each student's own school, 0 for none."""

    release: Release[Floats]
    choices: Choices


def match(  # noqa: PLR0913  (published: notebooks call it)
    students: Students,
    seats: int | Sequence[int],
    *,
    rounds: int,
    held_back: int = 0,
    rho: Fraction | None = None,
    epsilon: Epsilon | None = None,
    coins: Coins | None = None,
) -> Matching:
    """Match students to schools at the last thresholds, jointly private at ρ, or at pure ε.

    rounds: more than `top`, so that a school can come down to 0. held_back: seats of each school
    that noise may fill, but thresholds do not.
    """
    menu = Menu.singles(students.likes.shape[1])
    filled = checked_supply(seats, menu) - held_back
    if held_back < 0 or filled.min() < 0:
        raise MarketError(
            f"held_back must lie between 0 and the seats of every school, got {held_back}"
        )

    def lower(thresholds: Floats, enrolled: Integers) -> Floats:
        lowered: Floats = np.maximum(thresholds - (enrolled < filled), 0.0)
        return lowered

    noise = noise_within(menu, rounds, rho=rho, epsilon=epsilon)
    start = np.full(menu.goods, float(students.top + 1))
    release = Billboard(menu, noise, rounds, start, lower).release(students.choose, coins)
    return Matching(release, students.choose(release.result[-1]))
