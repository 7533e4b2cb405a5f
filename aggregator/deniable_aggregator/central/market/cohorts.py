"""Allocation under local privacy: every buyer answers once, and nobody need be trusted with it.

    round t   the prices are posted; one cohort of buyers, drawn at random and never asked again,
              reports what each would take through randomized response
    gradient  n/|c| · Σ_o (C_o − |c|·q)/(p − q) · o − s        C: the cohort's histogram

Each report has the whole local ε and is the only one of its buyer, so everybody's worths are ε-LDP
towards everyone, the server included, which adds no noise of its own: prices may be adapted to all
reports before. Afterwards each buyer draws a round of the second half, in private, and takes what
they would take at its prices. A round is an epoch of a "grr/1" collection over the options.

For buyers drawn independently from a population the gradient is unbiased, and regret and
over-demand are as in `allocation` with Σ_j Var_j ≤ n²·max_o‖o‖²/(|c|·(p − q)²).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from deniable_aggregator.central.account.parameters import read_count
from deniable_aggregator.central.adjacency import Adjacency
from deniable_aggregator.central.guarantee import Guarantee
from deniable_aggregator.central.market.allocation import Allocation, settled, singles_for
from deniable_aggregator.central.market.billboard import Floats
from deniable_aggregator.central.market.buyers import Buyers
from deniable_aggregator.central.market.course import Course, checked_supply
from deniable_aggregator.central.market.errors import MarketError
from deniable_aggregator.central.market.menu import Menu
from deniable_aggregator.central.release import Release
from deniable_aggregator.central.scores import Integers
from deniable_aggregator.central.uniform import uniform_order
from deniable_shared.coins import Coins
from deniable_shared.mechanisms import build
from deniable_shared.mechanisms.contract import Mechanism

__all__ = ["CohortMarket", "CohortPlan", "allocate_locally"]

LAW = "prices from one randomized answer of every buyer"
PROTECTS = "all that one buyer would ever report"
READERS = "everyone, the server included"
ROUNDS = 100


@dataclass(frozen=True, slots=True, eq=False)
class CohortPlan:
    """The public parameters; the mechanism is generalized response over the options of the menu."""

    buyers: int
    menu: Menu
    supply: Integers
    rounds: int
    mechanism: Mechanism

    def __post_init__(self) -> None:
        read_count(self.rounds, argument="rounds")
        read_count(self.buyers, argument="buyers")
        if self.buyers < self.rounds:
            raise MarketError(
                f"buyers must be at least one a round, got {self.buyers} for {self.rounds} rounds"
            )
        if self.mechanism.tally_size != self.menu.size or self.mechanism.id != "grr/1":
            raise MarketError(
                f'mechanism must be "grr/1" over the {self.menu.size} options, got '
                f'"{self.mechanism.id}" over {self.mechanism.tally_size}'
            )
        object.__setattr__(self, "supply", checked_supply(self.supply, self.menu))

    @property
    def guarantee(self) -> Guarantee:
        """Of a buyer's one report, so of everything."""
        return Guarantee.pure(self.mechanism.epsilon, Adjacency.REPLACE)

    @property
    def gap(self) -> Fraction:
        return self.mechanism.p - self.mechanism.q

    @property
    def variance(self) -> float:
        """Of the estimated demand, a good, at most."""
        largest = float((self.menu.options**2).sum(axis=1).max())
        cohort = self.buyers // self.rounds
        return self.buyers**2 * largest / (cohort * float(self.gap) ** 2 * self.menu.goods)

    @property
    def course(self) -> Course:
        """The step of the prices, and what it promises."""
        return Course(self.menu, self.supply, self.buyers, self.rounds, self.variance)


class CohortMarket:
    """One coordination, round by round: post `prices`, collect a cohort's tally, `learn` it."""

    def __init__(self, plan: CohortPlan) -> None:
        self.plan = plan
        self._boards: list[Floats] = [np.zeros(plan.menu.goods)]

    @property
    def prices(self) -> Floats:
        """What the next cohort is asked at."""
        return self._boards[-1]

    @property
    def rounds_left(self) -> int:
        return self.plan.rounds - len(self._boards) + 1

    def learn(self, tally: npt.ArrayLike) -> None:
        """Move the prices by one cohort's histogram; MarketError after the last round."""
        plan = self.plan
        if not self.rounds_left:
            raise MarketError(f"all {plan.rounds} rounds are over: take boards, and settle")
        counts = np.asarray(tally)
        if counts.shape != (plan.menu.size,) or counts.dtype.kind not in "iu" or not counts.sum():
            raise MarketError(f"tally must count the reports of {plan.menu.size} options, above 0")
        self._boards.append(plan.course.next(self.prices, self._demand(counts)))

    def release(self) -> Release[Floats]:
        """Every board, the last of which nobody answered."""
        boards = np.array(self._boards)
        return Release(boards, LAW, self.plan.guarantee, (), PROTECTS, READERS)

    def _demand(self, counts: npt.NDArray[np.integer]) -> Floats:
        """Unbiased, of all buyers."""
        plan, reports = self.plan, int(counts.sum())
        signal = counts - reports * float(plan.mechanism.q)
        demand: Floats = signal @ plan.menu.options * (plan.buyers / reports / float(plan.gap))
        return demand


def allocate_locally(
    worths: npt.ArrayLike,
    supply: int | Sequence[int],
    *,
    epsilon: str | int | Fraction,
    menu: Menu | None = None,
    rounds: int = ROUNDS,
    coins: Coins | None = None,
) -> Allocation:
    """The whole way on one machine: each buyer's answer through the real mechanism, once."""
    options = menu if menu is not None else singles_for(worths)
    buyers, source = Buyers(worths, options), coins or Coins.system()
    mechanism = build("grr/1", domain_size=options.size, epsilon=epsilon)
    stock = checked_supply(supply, options)
    market = CohortMarket(CohortPlan(len(buyers), options, stock, rounds, mechanism))
    for cohort in np.array_split(uniform_order(len(buyers), source), rounds):
        truths = buyers.choose(market.prices, only=cohort).tolist()
        reports = b"".join(mechanism.randomize(truth, source) for truth in truths)
        market.learn(_histogram(reports, mechanism))
    return settled(market.release(), buyers, rounds, source)


def _histogram(reports: bytes, mechanism: Mechanism) -> Integers:
    width = mechanism.payload_size
    indices = np.frombuffer(reports, dtype=f">u{width}").astype(np.int64)
    return np.bincount(indices, minlength=mechanism.tally_size)
