"""A reusable holdout: it reveals only where the training data mislead.

    agrees    |t − guess| + noise < noisy threshold    returns the analyst's own guess, free
    overfits  otherwise                                returns t + new noise: one of `overfits`

t counts f over the holdout's rows; the guess comes from the training rows. All of ε is spent when
the holdout is opened. It covers any number of queries, even if they depend on earlier answers.
After the last of `overfits` the holdout is used up. `error` is about the holdout's rows,
`population_error` about their population. Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015
(Thresholdout); the sparse vector as corrected by Lyu, Su, Li 2017; the noise is exact, on integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

from deniable_central.accounting.generalization import population_error
from deniable_central.accounting.parameters import Epsilon, read_count, read_epsilon
from deniable_central.errors import HoldoutError
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_central.samplers.noise import tail_quantile, two_sided_geometric
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

Row = TypeVar("Row")

_GRID = 1 << 40


@dataclass(frozen=True, slots=True)
class HoldoutPlan:
    """The public parameters: rows n, the ε of threshold, tests and answers, and the accuracy.

    tolerance: how far a guess may be off, as a share. queries, beta: so many answers are within
    `error` of the rows, except with probability beta. scale: f is a whole number of 1/scale.
    """

    rows: int
    epsilons: tuple[Fraction, Fraction, Fraction]
    tolerance: Fraction
    overfits: int
    queries: int
    beta: float = 0.05
    scale: int = 1

    def __post_init__(self) -> None:
        for name in ("rows", "overfits", "queries", "scale"):
            read_count(getattr(self, name), argument=name)
        if min(self.epsilons) <= 0:
            raise HoldoutError("each of the three epsilons must be positive")
        if not 0 < self.tolerance < 1:
            raise HoldoutError(f"tolerance must lie in (0, 1), got {float(self.tolerance):.3g}")
        if not 0 < self.beta < 1:
            raise HoldoutError(f"beta must lie in (0, 1), got {self.beta}")

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all answers together."""
        return Guarantee.pure(sum(self.epsilons, Fraction(0)), Adjacency.REPLACE)

    @property
    def unit(self) -> int:
        """Raw units of a share of 1."""
        return self.rows * self.scale

    @property
    def threshold(self) -> int:
        return math.ceil(self.tolerance * self.unit)

    @property
    def decays(self) -> tuple[Fraction, Fraction, Fraction]:
        """Decays of the noise on the threshold, on every test, and on answers that overfit."""
        of_threshold, of_test, of_answer = self.epsilons
        each = self.overfits * self.scale
        return of_threshold / self.scale, of_test / (2 * each), of_answer / each

    @property
    def error(self) -> Fraction:
        """How far an answer is from the rows' own share at most, except with probability beta."""
        third = self.beta / 3
        decays = self.decays
        doubt = tail_quantile(decays[0], third) + tail_quantile(decays[1], third / self.queries)
        answer = tail_quantile(decays[2], third / self.overfits)
        return Fraction(max(self.threshold - 1 + doubt, answer), self.unit)

    def population_error(self, *, failure: Fraction) -> Fraction:
        """Return how far an answer is from the population at most, except with chance `failure`."""
        return population_error(
            self.guarantee, alpha=self.error, beta=Fraction(self.beta), failure=failure
        )


def plan_holdout(  # noqa: PLR0913  (published: notebooks call it)
    *,
    rows: int,
    epsilon: Epsilon,
    tolerance: Fraction,
    overfits: int,
    queries: int,
    beta: float = 0.05,
    scale: int = 1,
) -> HoldoutPlan:
    """Return a plan: a third of ε for answers that overfit, the rest split best for the tests."""
    whole = read_epsilon(epsilon)
    weight = Fraction(round((2 * overfits) ** (2 / 3) * _GRID), _GRID)
    of_threshold = whole * Fraction(2, 3) / (1 + weight)
    split = (of_threshold, whole * Fraction(2, 3) - of_threshold, whole / 3)
    return HoldoutPlan(rows, split, tolerance, overfits, queries, beta, scale)


@dataclass(frozen=True, slots=True)
class HoldoutAnswer:
    """About the share of the rows that f has, and whether the guess was off."""

    share: Fraction
    overfits: bool


class Holdout(Generic[Row]):
    """Rows that are only queried through this object. Opening it spends `plan.guarantee`."""

    law = "sparse vector with geometric noise over a holdout"

    def __init__(
        self, rows: Collection[Row], plan: HoldoutPlan, *, coins: Coins | None = None
    ) -> None:
        if len(rows) != plan.rows:
            raise HoldoutError(f"rows must be {plan.rows:,}, as planned, got {len(rows):,}")
        self.plan = plan
        self._rows, self._coins = rows, coins or Coins.system()
        self._threshold = plan.threshold + self._noise(plan.decays[0])
        self._left, self._query_count = plan.overfits, 0

    @property
    def guarantee(self) -> Guarantee:
        """What opening it spent: it covers all answers."""
        return self.plan.guarantee

    @property
    def overfits_left(self) -> int:
        """How many guesses it can still correct; public, like every answer."""
        return self._left

    @property
    def query_count(self) -> int:
        return self._query_count

    def ask(self, query: Callable[[Row], int], *, guess: Fraction | int) -> HoldoutAnswer:
        """Return the share of f = query(row)/scale; `guess` is its share of the training rows.

        f is computed row by row and clipped to [0, 1], so that no query reaches further than
        planned. Raises HoldoutError once the holdout is used up.
        """
        if not self._left:
            raise HoldoutError(
                f"this holdout is used up: it corrected {self.plan.overfits} guesses, as planned; "
                "hold out other rows"
            )
        if not 0 <= guess <= 1:
            raise HoldoutError("guess must be a share in [0, 1]")
        self._query_count += 1
        true, expected = self._count(query), round(guess * self.plan.unit)
        _, of_test, of_answer = self.plan.decays
        if abs(true - expected) + self._noise(of_test) < self._threshold:
            return HoldoutAnswer(Fraction(guess), overfits=False)
        self._left -= 1
        return HoldoutAnswer(Fraction(true + self._noise(of_answer), self.plan.unit), overfits=True)

    def _count(self, query: Callable[[Row], int]) -> int:
        return sum(min(max(int(query(row)), 0), self.plan.scale) for row in self._rows)

    def _noise(self, decay: Fraction) -> int:
        return int(two_sided_geometric(decay, 1, self._coins)[0])
