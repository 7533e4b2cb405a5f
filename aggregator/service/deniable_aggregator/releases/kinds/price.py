"""`price`: a price with about the largest revenue, and the gain from a false answer.

    revenue(r) = r · #{answers ≥ r}      Pr[r] ∝ e^(ε · revenue(r)/D)      r on the grid

The exponential mechanism over the score `revenue`, where one report replaced parts two revenues by
D, the highest price that may be drawn: every price below it is less noisy for each that is left
out above. `ratio` thins the grid: a price is left out if the one kept below it is at most so many
times smaller, so the grid keeps at least 1/ratio of the best revenue, and has fewer similar
candidates. With every label on the grid it has the law of `exponential` with score revenue.

A false report moves the price only a little: a buyer who pays at most what the good is worth to
them gains at most D·min(tanh(ε/2), √(ρ/2)) by it on average (`misreport_gain`), which is about
D·ε/4. That is not tight: a draw of bounded range ε moves by at most tanh(ε/4) in total variation,
5% less at ε = 2. The local noise leaves less. Prices are exact decimals of whole cents. McSherry,
Talwar 2007; docs/mathematics/auctions.md, A private price.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

from deniable_aggregator.releases.kinds.arguments import (
    EPSILON,
    decimal_text,
    read_epsilon,
    with_defaults,
)
from deniable_aggregator.releases.kinds.contract import Parameter, ReleaseContext
from deniable_aggregator.releases.kinds.error_bars import CONFIDENCE, selection_bars
from deniable_aggregator.releases.kinds.ordered_scores import Revenue, label_prices
from deniable_aggregator.releases.kinds.selection import PreparedSelection, declared, radius_of
from deniable_central.auctions import misreport_gain
from deniable_central.selection import Exponential, shortfall
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PARAMETERS = (
    Parameter("lowest", 'the least price that may be drawn, like "0.99", or any', "any"),
    Parameter("highest", 'the highest price that may be drawn, like "19.99", or any', "any"),
    Parameter("ratio", 'how far prices may lie apart, from 1 (all labels) to 100, like "1.1"', "1"),
    EPSILON,
)
VERSION = 1
UNIT = "cents of revenue below the best price of the grid"
_MOST_RATIO = 100
_PRICE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,2})?")
_RATIO = re.compile(r"[0-9]{1,3}(\.[0-9]{1,6})?")


@dataclass(frozen=True, slots=True)
class LabelPriceGrid:
    """The labels that may be drawn, their prices in cents, and the share of revenue they keep."""

    places: tuple[int, ...]
    prices: tuple[int, ...]
    share: Fraction

    @classmethod
    def thinned(
        cls, cents: Sequence[int], places: Sequence[int], ratio: Fraction
    ) -> LabelPriceGrid:
        """The first price, then each time the largest at most `ratio` times the last, or the next.

        A person who pays a price above one that is left out also pays the kept one below it.
        """
        kept, share = [places[0]], Fraction(1)
        for place, after in zip(places[1:], [*places[2:], None], strict=True):
            within = after is not None and cents[after] <= ratio * cents[kept[-1]]
            if within and cents[kept[-1]]:
                share = min(share, Fraction(cents[kept[-1]], cents[place]))
            else:
                kept.append(place)
        return cls(tuple(kept), tuple(cents[place] for place in kept), share)


def prepare(arguments: Mapping[str, object], context: ReleaseContext) -> PreparedSelection[int]:
    """The prepared release. Raises ParameterError for arguments that do not fit here."""
    complete = with_defaults("price", PARAMETERS, arguments)
    epsilon, ratio = read_epsilon(complete["epsilon"]), _read_ratio(complete["ratio"])
    cents = label_prices(context)
    grid = LabelPriceGrid.thinned(cents, _between(cents, complete), ratio)
    score = Revenue.of(context, grid.places)
    privacy = declared(score, epsilon)
    mechanism = Exponential.of(privacy)
    gain = misreport_gain(mechanism.guarantee, lowest=0, highest=grid.prices[-1])
    levels = shortfall(privacy, candidates=len(grid.places), beta=(1 - CONFIDENCE) / 2)
    return PreparedSelection(
        mechanism="price",
        version=VERSION,
        parameters={
            "lowest": money(grid.prices[0]),
            "highest": money(grid.prices[-1]),
            "ratio": decimal_text(ratio),
            "epsilon": decimal_text(epsilon),
        },
        expected=selection_bars(score, levels, unit=UNIT),
        score=score,
        selector=mechanism,
        show=partial(_price_document, grid, math.ceil(gain)),
        radius=radius_of(context, privacy, len(grid.places)),
    )


def _price_document(
    grid: LabelPriceGrid, gain: int, drawn: int, candidates: tuple[str | None, ...]
) -> Mapping[str, object]:
    """The document with the price, its label and the label's place; the rest is public."""
    return {
        "price": money(grid.prices[drawn]),
        "label": candidates[drawn],
        "index": grid.places[drawn],
        "prices": [money(price) for price in grid.prices],
        "grid_keeps": math.floor(grid.share * 10_000) / 10_000,
        "false_report_gains_at_most": money(gain),
    }


def money(cents: int) -> str:
    """Whole cents as a decimal text with two decimals."""
    return f"{cents // 100}.{cents % 100:02d}"


def _between(cents: Sequence[int], complete: Mapping[str, object]) -> list[int]:
    low = _read_bound("lowest", complete["lowest"], cents[0])
    high = _read_bound("highest", complete["highest"], cents[-1])
    places = [place for place, price in enumerate(cents) if low <= price <= high]
    if len(places) < 2:
        raise ParameterError(
            f"lowest and highest must have at least 2 of the labels between them, which go from "
            f"{money(cents[0])} to {money(cents[-1])}, got {len(places)} from {money(low)} to "
            f"{money(high)}"
        )
    return places


def _read_bound(argument: str, value: object, end: int) -> int:
    if value == "any":
        return end
    if not isinstance(value, str) or not _PRICE.fullmatch(value):
        raise ParameterError(
            f'{argument} must be "any" or a price as a decimal text like "4.01", at most nine '
            f"digits before the point and two after it, got {value!r:.40}"
        )
    return int(Fraction(value) * 100)


def _read_ratio(value: object) -> Fraction:
    ratio = Fraction(value) if isinstance(value, str) and _RATIO.fullmatch(value) else Fraction(0)
    if not 1 <= ratio <= _MOST_RATIO:
        raise ParameterError(
            f'ratio must be a decimal text in [1, {_MOST_RATIO}], like "1.1", at most six digits '
            f"after the point, got {value!r:.40}"
        )
    return ratio
