"""Scores over labels in an order, of a choice or number: quantiles, and revenue of prices.

    F_v = Σ_{i≤v} c_i        its mean at share α of true answers up to v: M_v(α) = n·Σ_{i≤v} μ
    R_v = ⌈M_v(α)⌉           F_v ≥ R_v is exactly: the debiased share up to v is at least α

    quantile   −max(0, R_v − F_v, F_{v−1} − (R_{v−1} − 1))     0: v is the debiased α-quantile
    revenue    price_v · Σ_{i≥v} c_i − round(price_v · n · Σ_{i≥v} μ(0))

The raw quantile of randomized answers is drawn to the middle label; with R_v it is not, and as R_v
is public, one report moves a score as far as it moves F_v. F̂ need not rise, so a quantile may be
crossed more than once; the first crossing is proposed with its distance: how many reports
must be replaced before another one is the first,

    D = min(⌈(F_v − R_v + 1)/L⌉, min_{i<v} ⌈(R_i − F_i)/L⌉)    L: how far one report moves an F_i

which moves by at most 1 with a report, and is 1 on both sides of a change (proof: if the answer
goes from v to a smaller w, F_w crosses R_w, so ⌈(R_w − F_w)/L⌉ = 1 before and ⌈(F_w − R_w + 1)/L⌉
= 1 after; if to a larger one, the same for F_v). At p = 1 it is the distance of a
stable quantile. Prices are decimals of whole cents.
Source: docs/mathematics/releases-over-sums.md, Scores in order.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from deniable_aggregator.releases.kinds.label_counts import LabelCounts
from deniable_aggregator.releases.kinds.sensitivity import Sensitivity
from deniable_central.stability import Proposal
from deniable_shared.domains import Choice, Number
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext

MOST_ORDERED = 4096
MOST_PRICES = 512
_CHUNK = 1 << 22
_LARGEST = 1 << 60
_FAR = 1 << 61  # no label there whose crossing could come first
_PRICE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,2})?")


@dataclass(frozen=True, slots=True, eq=False)
class Quantile:
    """The label below or at which a share `quantile` of the true answers lies."""

    context: ReleaseContext
    label_counts: LabelCounts
    quantile: Fraction
    targets: Counts
    width: int

    @classmethod
    def of(cls, context: ReleaseContext, quantile: Fraction) -> Quantile:
        labels = _ordered(context, "quantile", MOST_ORDERED)
        label_counts = LabelCounts.of(context)
        targets = [math.ceil(label_counts.expected(quantile, labels=v + 1)) for v in range(labels)]
        return cls(context, label_counts, quantile, np.array(targets), widest_share(label_counts))

    @property
    def candidates(self) -> tuple[str | None, ...]:
        return self.context.domain.labels

    @property
    def sensitivity(self) -> Mapping[str, int]:
        return {"sensitivity": self.width}

    @property
    def unit(self) -> str:
        return f"true answers from rank {self.quantile} of n"

    def over(self, counts: Counts) -> Counts:
        """F_v − R_v; of the last label at least 0, as all true answers lie up to it."""
        return self._over(self.label_counts(counts))

    def _over(self, label_counts: Counts) -> Counts:
        over: Counts = np.cumsum(label_counts) - self.targets
        over[-1] = max(int(over[-1]), 0)
        return over

    def levels(self, counts: Counts) -> Counts:
        return self.levels_of_label_counts(self.label_counts(counts))

    def levels_of_label_counts(self, label_counts: Counts) -> Counts:
        over = self._over(label_counts)
        beyond = np.concatenate([[0], over[:-1] + 1])
        levels: Counts = -np.maximum(np.maximum(-over, beyond), 0)
        return levels

    def length(self, levels: float) -> float:
        return (levels + 1) / float(self.label_counts.gain)

    def local(self, beta: float) -> float:
        return self.label_counts.deviation(self.width, sums=self.context.domain.size, beta=beta)


class Crossing(Protocol):
    """A score whose first crossing can be proposed."""

    @property
    def width(self) -> int:
        """L."""

    def over(self, counts: Counts) -> Counts:
        """F_v − R_v."""


def propose_first_crossing(score: Crossing, counts: Counts) -> Proposal[int]:
    """The first label whose debiased share is at least the quantile, and D."""
    over = score.over(counts)
    first, places = int(np.argmax(over >= 0)), np.arange(len(over))
    above = _FAR if first == len(over) - 1 else int(over[first]) + 1
    below = -int(np.where(places < first, over, -_FAR).max())
    return Proposal(first, -(-min(above, below) // score.width))


@dataclass(frozen=True, slots=True, eq=False)
class Revenue:
    """The price with the highest revenue: price times the true answers at or above it, in cents.

    `places` are the labels that may be drawn, `prices` theirs.
    """

    context: ReleaseContext
    label_counts: LabelCounts
    places: Counts
    prices: Counts
    offsets: Counts
    apart: int

    @classmethod
    def of(cls, context: ReleaseContext, places: Sequence[int] | None = None) -> Revenue:
        """The score of all labels, or of those at `places`, in their order."""
        size = _ordered(context, "revenue", MOST_ORDERED)
        chosen = range(size) if places is None else places
        if len(chosen) > MOST_PRICES:
            raise ParameterError(
                f"revenue takes at most {MOST_PRICES:,} labels to choose from, got "
                f"{len(chosen):,}: collect coarser labels, or use price with a ratio above 1"
            )
        every, label_counts = label_prices(context), LabelCounts.of(context)
        prices = [every[place] for place in chosen]
        each = label_counts.messages.unit * label_counts.messages.most_labels
        if prices[-1] * context.n * each >= _LARGEST:
            raise ParameterError(
                f"the largest price in cents times n must be below 2^60, got {prices[-1]} times "
                f"{context.n:,}, and {each:,} for each report: use smaller prices or fewer epochs"
            )
        offsets = [
            round(price * label_counts.expected(Fraction(0), labels=size - place))
            for place, price in zip(chosen, prices, strict=True)
        ]
        tails = _tails(size, chosen) * np.array(prices)[:, None]
        apart = Sensitivity(label_counts.messages, label_counts.messages.tally_matrix(tails)).range
        return cls(
            context, label_counts, np.array(chosen), np.array(prices), np.array(offsets), apart
        )

    @property
    def candidates(self) -> tuple[str | None, ...]:
        return tuple(self.context.domain.labels[place] for place in self.places.tolist())

    @property
    def sensitivity(self) -> Mapping[str, int]:
        return {"range_sensitivity": self.apart}

    @property
    def unit(self) -> str:
        return "cents of revenue below the best price"

    def levels(self, counts: Counts) -> Counts:
        return self.levels_of_label_counts(self.label_counts(counts))

    def levels_of_label_counts(self, label_counts: Counts) -> Counts:
        tails = np.cumsum(label_counts[::-1])[::-1][self.places]
        levels: Counts = self.prices * tails - self.offsets
        return levels

    def length(self, levels: float) -> float:
        return (levels + 1) / float(self.label_counts.gain)

    def local(self, beta: float) -> float:
        messages, sums = self.label_counts.messages, len(self.places)
        tails = _tails(self.context.domain.size, self.places.tolist())
        width = int(messages.row_ranges(messages.tally_matrix(tails)).max())
        return 2 * float(self.prices[-1]) * self.label_counts.deviation(width, sums=sums, beta=beta)


def label_prices(context: ReleaseContext) -> list[int]:
    """The labels in cents. Raises ParameterError unless they are prices in rising order."""
    _ordered(context, "revenue", MOST_ORDERED)
    return _prices(context.domain.labels)


def _ordered(context: ReleaseContext, what: str, most: int) -> int:
    if not isinstance(context.domain, Choice | Number):
        raise ParameterError(
            f"{what} needs labels in an order, as in a choice or a number; "
            f"{context.domain.type} has no order: use mode, threshold or histogram"
        )
    if context.domain.size > most:
        raise ParameterError(
            f"{what} takes at most {most:,} labels, this domain has {context.domain.size:,}: "
            "use histogram and add up its counts, or collect coarser labels"
        )
    return context.domain.size


def widest_share(label_counts: LabelCounts) -> int:
    """The most that one report moves any F_v: the widest row of the cumulative matrix.

    For more than 4,096 labels, the most that it moves any set of labels.
    """
    messages, size, widest = label_counts.messages, label_counts.context.domain.size, 0
    if size > MOST_ORDERED:
        return messages.label_sensitivity.sets
    step = max(1, _CHUNK // size)
    for start in range(0, size, step):
        rows = np.arange(start, min(start + step, size))
        matrix = (np.arange(size)[None, :] <= rows[:, None]).astype(np.int64)
        widest = max(widest, int(messages.row_ranges(messages.tally_matrix(matrix)).max()))
    return widest


def _tails(size: int, places: Sequence[int]) -> Counts:
    """One row for each place, with ones for the labels at or above it: int64[places, size]."""
    tails: Counts = (np.arange(size)[None, :] >= np.array(places)[:, None]).astype(np.int64)
    return tails


def _prices(labels: tuple[str, ...]) -> list[int]:
    """The labels in cents. Raises ParameterError unless they rise."""
    for label in labels:
        if not _PRICE.fullmatch(label):
            raise ParameterError(
                "revenue needs labels that are prices, numbers like 4 or 4.01 with at most nine "
                f"digits before the point and two after it, got {label!r:.80}"
            )
    cents = [int(Fraction(label) * 100) for label in labels]
    if any(after <= before for before, after in pairwise(cents)):
        raise ParameterError("revenue needs labels in rising order of price")
    return cents
