"""Allocation under local privacy: every buyer answers once, and no party must be trusted.

    round t   the prices are posted; one random cohort of buyers, which answers only once,
              reports what each would take through randomized response
    gradient  n/|c| · Σ_o (C_o − |c|·q)/(p − q) · o − s        C: the cohort's histogram

Each report has the whole local ε and is the only one of its buyer. So all worths are ε-LDP against
everyone, including the server, which adds no noise: prices may depend on all earlier reports.
Afterwards each buyer draws a round of the second half, in private, and takes what they would take
at its prices. A round is an epoch of a "grr/1" collection over the options.
`LocalAllocationPlan.boards` maps the tallies of the rounds so far to all prices; the last row is
the next round's.

For buyers drawn independently from a population the gradient is unbiased. Regret and over-demand
are as in `price_updates` with Σ_j Var_j ≤ n²·max_o‖o‖²/(|c|·(p − q)²), |c| ≥ ⌊n/T⌋.

Source: docs/mathematics/auctions.md, Allocation by one answer each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from deniable_central.accounting.parameters import read_count
from deniable_central.auctions.allocation import Allocation, settle, singles_for
from deniable_central.auctions.buyers import Buyers
from deniable_central.auctions.demand_noise import MOST_ROUNDS
from deniable_central.auctions.price_updates import PriceUpdates, checked_supply
from deniable_central.errors import MarketError
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_central.release import Release
from deniable_central.samplers.uniform import uniform_order
from deniable_central.scores import Integers
from deniable_shared.mechanisms import build, ids_for_target
from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from deniable_central.auctions.billboard import Floats
    from deniable_central.auctions.menu import Choices, Menu
    from deniable_central.selection.privacy_parameters import Epsilon
    from deniable_shared.mechanisms.protocols import Mechanism

PROTECTS = "all that one buyer would ever report"
READERS = "everyone, the server included"
ROUNDS = 100


@dataclass(frozen=True, slots=True, eq=False)
class LocalAllocationPlan:
    """The public parameters. The mechanism is generalized response over the options of the menu."""

    law: ClassVar[str] = "prices from one randomized answer of every buyer"
    buyers: int
    menu: Menu
    supply: Integers
    rounds: int
    mechanism: Mechanism

    def __post_init__(self) -> None:
        read_count(self.rounds, argument="rounds", most=MOST_ROUNDS)
        read_count(self.buyers, argument="buyers")
        if self.buyers < self.rounds:
            raise MarketError(
                f"buyers must be at least one a round, got {self.buyers} for {self.rounds} rounds"
            )
        able = ids_for_target("allocations")
        if self.mechanism.tally_size != self.menu.size or self.mechanism.id not in able:
            raise MarketError(
                f'mechanism must be "{able[0]}" over the {self.menu.size} options, got '
                f'"{self.mechanism.id}" over {self.mechanism.tally_size}'
            )
        object.__setattr__(self, "supply", checked_supply(self.supply, self.menu))

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of a buyer's one report, and so of everything."""
        return Guarantee.pure(self.mechanism.epsilon, Adjacency.REPLACE)

    @property
    def gap(self) -> Fraction:
        """p − q."""
        return self.mechanism.p - self.mechanism.q

    @property
    def variance(self) -> float:
        """A bound on the variance of the estimated demand for one good, averaged over goods."""
        largest = float((self.menu.options**2).sum(axis=1).max())
        cohort = self.buyers // self.rounds
        return self.buyers**2 * largest / (cohort * float(self.gap) ** 2 * self.menu.goods)

    @property
    def course(self) -> PriceUpdates:
        """The step of the prices, and the accuracy that it guarantees."""
        return PriceUpdates(self.menu, self.supply, self.buyers, self.rounds, self.variance)

    def demand(self, tally: npt.ArrayLike) -> Floats:
        """An unbiased estimate of what all buyers would take, from one cohort's histogram."""
        counts = np.asarray(tally)
        if counts.shape != (self.menu.size,) or counts.dtype.kind not in "iu" or not counts.sum():
            raise MarketError(f"a tally must count the reports of {self.menu.size} options, over 0")
        reports = int(counts.sum())
        signal = counts - reports * float(self.mechanism.q)
        demand: Floats = signal @ self.menu.options * (self.buyers / reports / float(self.gap))
        return demand

    def boards(self, tallies: Sequence[npt.ArrayLike]) -> Floats:
        """Return the prices of every round so far, one row a round, and those of the next one."""
        if len(tallies) > self.rounds:
            raise MarketError(f"tallies must be at most {self.rounds} rounds', got {len(tallies)}")
        course = self.course
        boards = [course.start()]
        for tally in tallies:
            boards.append(course.next(boards[-1], self.demand(tally)))
        return np.array(boards)

    def release(self, tallies: Sequence[npt.ArrayLike]) -> Release[Floats]:
        """Return every board; the last one has no answers yet."""
        boards = self.boards(tallies)
        return Release(boards, self.law, self.guarantee, (), PROTECTS, READERS)


def allocate_locally(
    worths: npt.ArrayLike,
    supply: int | Sequence[int],
    *,
    epsilon: Epsilon,
    menu: Menu | None = None,
    rounds: int = ROUNDS,
    coins: Coins | None = None,
) -> Allocation:
    """Simulate all rounds on one machine: each buyer answers once, by the real mechanism."""
    options = menu if menu is not None else singles_for(worths)
    buyers, source = Buyers(worths, options), coins or Coins.system()
    mechanism = build(ids_for_target("allocations")[0], domain_size=options.size, epsilon=epsilon)
    plan = LocalAllocationPlan(
        len(buyers), options, checked_supply(supply, options), rounds, mechanism
    )
    course, tallies, prices = plan.course, list[Integers](), plan.course.start()
    for cohort in np.array_split(uniform_order(len(buyers), source), rounds):
        tallies.append(_reported(buyers.choose(prices, only=cohort), mechanism, source))
        prices = course.next(prices, plan.demand(tallies[-1]))
    return settle(plan.release(tallies), buyers, rounds, source)


def _reported(truths: Choices, mechanism: Mechanism, coins: Coins) -> Integers:
    """The histogram of one randomized report of each truth; a payload is an option's number."""
    reports = [mechanism.randomize(truth, coins) for truth in truths.tolist()]
    options = np.array([int.from_bytes(report, "big") for report in reports], dtype=np.int64)
    return np.bincount(options, minlength=mechanism.tally_size)
