"""`allocate`: prices for goods of limited supply, one round for each epoch, and the demand.

    answers    which good each would take at the prices that were posted, or none: a label each
    round t    the noisy counts of epoch t (`histogram`), debiased: d_t of `buyers` in all
               p_{t+1} = clip(p_t + η(d_t − s), 0, 2)      s the supply, η of `price_updates`

Epochs share no report, so all rounds together cost ε: an answer affects only the counts of its own
round. An epoch without reports is not a round; if only releases may be read, single rounds are not
shown. Prices are in units of the highest value that a good has for any person. To post prices epoch
by epoch, request each epoch alone, with `start` the next prices of the release before: then every
epoch is charged once.

The allocation is the average demand in the second half of the rounds, where prices have settled;
each buyer draws one of these rounds, in private, and takes what they would at its prices. Hsu et
al. 2014; docs/mathematics/auctions.md, Allocation by one answer each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from deniable_aggregator.releases.kinds.allocation_goods import Goods, read_goods
from deniable_aggregator.releases.kinds.allocation_rounds import DemandRound, limits
from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    read_epsilon,
    with_defaults,
)
from deniable_aggregator.releases.kinds.contract import (
    Counts,
    Parameter,
    ReleaseContext,
    ReleaseResult,
    Tallies,
)
from deniable_aggregator.releases.kinds.histogram import PreparedHistogram
from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_central.auctions import Menu, PriceUpdates
from deniable_central.guarantee import Adjacency, Guarantee
from deniable_central.pmf import Pmf
from deniable_central.samplers.noise import MOST_OUTCOMES, two_sided_geometric
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_central.release import ErrorBar
    from deniable_estimators.inference.channel import Floats
    from deniable_shared.randomness.coins import Coins

PARAMETERS = (
    Parameter("none", "the label for taking nothing", "none"),
    Parameter("supply", 'units of every good, like "100", or a list with a number for each good'),
    Parameter(
        "buyers", "how many people the supply is for, or reports: as many as answered", "reports"
    ),
    Parameter(
        "rounds", "how many epochs there will be in all, or epochs: those with reports", "epochs"
    ),
    Parameter("start", "the first prices, one decimal for all goods or a list", "0"),
    EPSILON,
)
_MOST_SHOWN = 1 << 16
_DIGITS = 6


@dataclass(frozen=True, slots=True, eq=False)
class PreparedAllocation:
    """A valid request for prices and an allocation: see `contract.PreparedRelease`."""

    mechanism: ClassVar[str] = "allocate"
    version: ClassVar[int] = 1

    context: ReleaseContext
    label_counts: LabelCounts
    goods: Goods
    epsilon: Fraction

    @property
    def parameters(self) -> Mapping[str, object]:
        return {**self.goods.parameters, "epsilon": decimal_text(self.epsilon)}

    @property
    def law(self) -> str:
        return "two-sided geometric noise on every count of every epoch, then prices"

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.pure(self.epsilon, Adjacency.REPLACE)

    @property
    def decay(self) -> Fraction:
        return self.epsilon / self.label_counts.messages.label_sensitivity.l1

    @property
    def expected(self) -> tuple[ErrorBar, ...]:
        """The error of one round, if the reports are spread evenly over the epochs."""
        each = max(self.context.n // len(self.context.epochs), 1)
        label_counts = LabelCounts.of(replace(self.context, n=each, epochs=self.context.epochs[:1]))
        bar = PreparedHistogram(self.epsilon, label_counts).expected[0]
        return (replace(bar, quantity="error of each share of demand in one epoch"),)

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        rounds = [
            DemandRound(
                epoch, label_counts, exact + two_sided_geometric(self.decay, len(exact), coins)
            )
            for epoch, label_counts, exact in self._exact(tallies)
        ]
        boards = self._boards(rounds)
        half = len(rounds) // 2
        settled = np.mean(boards[half:-1], axis=0)
        result = {
            "goods": list(self.goods.labels),
            "next": list(map(_posted, boards[-1].tolist())),
            "allocation": self._allocation(rounds[half:], settled),
            "rounds": list(map(self._round_document, rounds, boards)),
        }
        return ReleaseResult(result, self.expected)

    def pmf(self, tallies: Tallies, *, farthest: int) -> Pmf[tuple[tuple[int, ...], ...]]:
        """The certified law of all noisy counts within `farthest` of the true ones, no more."""
        laws = []
        for epoch, label_counts, _ in self._exact(tallies):
            part = Tallies((tallies.by_epoch()[epoch],))
            laws.append(PreparedHistogram(self.epsilon, label_counts).pmf(part, farthest=farthest))
        if math.prod(len(law.outcomes) for law in laws) > MOST_OUTCOMES:
            raise ParameterError(f"farthest must allow at most {MOST_OUTCOMES:,} outcomes")
        outcomes = tuple(product(*(law.outcomes for law in laws)))
        lower = tuple(
            math.prod(row, start=Fraction(1)) for row in product(*(x.lower for x in laws))
        )
        upper = tuple(
            math.prod(row, start=Fraction(1)) for row in product(*(x.upper for x in laws))
        )
        return Pmf(outcomes, lower, upper)

    def _exact(self, tallies: Tallies) -> list[tuple[int, LabelCounts, Counts]]:
        """Epochs that have reports, with their label counts before the noise."""
        exact_counts = []
        for epoch, part in tallies.by_epoch().items():
            if part.n:
                label_counts = LabelCounts.of(replace(self.context, n=part.n, epochs=(epoch,)))
                exact_counts.append((epoch, label_counts, label_counts(part.counts)))
        return exact_counts

    def _round_document(self, epoch_round: DemandRound, board: Floats) -> dict[str, object]:
        """The prices of one epoch, and the demand at them."""
        return {
            "epoch": epoch_round.epoch,
            "prices": list(map(_posted, board.tolist())),
            "noisy": epoch_round.noisy.tolist(),
            "demand": self._demand(epoch_round).tolist(),
        }

    def _course(self, rounds: list[DemandRound]) -> PriceUpdates:
        """Its step allows for the smallest epoch: Σ_j Var(d_j) of one report is at most 1/gap²."""
        goods, buyers = len(self.goods.labels), self._buyers
        fewest = min(epoch_round.label_counts.context.n for epoch_round in rounds)
        weight = 1 / float(fewest * self.label_counts.gain)
        z = math.exp(-float(self.decay))
        noise = 2 * z / math.expm1(-float(self.decay)) ** 2
        variance = buyers**2 * weight**2 * (fewest / goods + noise)
        many = self.goods.rounds or len(rounds)
        return PriceUpdates(Menu.singles(goods), self.goods.supply, buyers, many, variance)

    @property
    def _buyers(self) -> int:
        return self.goods.buyers or self.context.n

    def _demand(self, epoch_round: DemandRound) -> Floats:
        """Units of each good that all buyers would take."""
        demand: Floats = epoch_round.shares[self.goods.places] * self._buyers
        return demand

    def _boards(self, rounds: list[DemandRound]) -> list[Floats]:
        """Prices in millionths, so that the next release can start exactly where this one ends."""
        course, boards = self._course(rounds), [self.goods.start]
        for epoch_round in rounds:
            boards.append(course.next(boards[-1], self._demand(epoch_round)).round(_DIGITS))
        return boards

    def _allocation(self, rounds: list[DemandRound], prices: Floats) -> list[dict[str, object]]:
        shares = np.mean([epoch_round.shares for epoch_round in rounds], axis=0)[self.goods.places]
        alone = self.context.repeat == "once"
        lower, upper = limits(rounds, self.decay, alone=alone)
        columns = zip(
            self.goods.labels,
            self.goods.supply.tolist(),
            (shares * self._buyers).tolist(),
            shares.tolist(),
            lower[self.goods.places].tolist(),
            upper[self.goods.places].tolist(),
            prices.tolist(),
            strict=True,
        )
        names = ("good", "supply", "demand", "share", "lower", "upper", "price")
        return [dict(zip(names, column, strict=True)) for column in columns]


def _posted(price: float) -> str:
    return decimal_text(Fraction(round(price * 10**_DIGITS), 10**_DIGITS))


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedAllocation:
    """The prepared release. Raises ParameterError for arguments that do not fit here."""
    complete = with_defaults("allocate", PARAMETERS, arguments)
    epsilon, goods = read_epsilon(complete["epsilon"]), read_goods(complete, context)
    if len(context.epochs) * len(goods.labels) > _MOST_SHOWN:
        raise ParameterError(
            f"epochs times goods must be at most {_MOST_SHOWN:,}, got {len(context.epochs):,} "
            f"times {len(goods.labels):,}: ask for fewer epochs, with start the prices before them"
        )
    return PreparedAllocation(context, LabelCounts.of(context), goods, epsilon)
