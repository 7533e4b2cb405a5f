"""The goods of an allocation: which labels they are, their supply, and for how many people.

Everything has one form: numbers as integers, a list if goods may differ, prices as decimal
texts with at most six decimals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from deniable_aggregator.releases.kinds.arguments import decimal_text, read_name, read_whole
from deniable_central.auctions.demand_noise import MOST_ROUNDS
from deniable_central.auctions.price_updates import HIGHEST
from deniable_shared.domains import Choice
from deniable_shared.errors import ParameterError
from deniable_shared.mechanisms import ids_for_target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_aggregator.releases.kinds.contract import Counts, ReleaseContext
    from deniable_estimators.inference.channel import Floats

MOST_GOODS = 1024
MOST_PEOPLE = 10**9
_PRICE = re.compile(r"[0-2](\.[0-9]{1,6})?")

One = TypeVar("One")


@dataclass(frozen=True, slots=True, eq=False)
class Goods:
    """Built by `read_goods`; `buyers` and `rounds` are None if the reports decide them."""

    none: str
    labels: tuple[str, ...]
    places: Counts
    supply: Counts
    buyers: int | None
    rounds: int | None
    first: tuple[Fraction, ...]

    @property
    def start(self) -> Floats:
        return np.array([float(price) for price in self.first])

    @property
    def parameters(self) -> Mapping[str, object]:
        return {
            "none": self.none,
            "supply": self.supply.tolist(),
            "buyers": "reports" if self.buyers is None else self.buyers,
            "rounds": "epochs" if self.rounds is None else self.rounds,
            "start": [decimal_text(price) for price in self.first],
        }


def read_goods(complete: Mapping[str, object], context: ReleaseContext) -> Goods:
    """The goods. Raises ParameterError for a domain, mechanism or argument that does not fit."""
    labels = _labels(context)
    if context.n > MOST_PEOPLE:
        raise ParameterError(
            f"allocate reads at most {MOST_PEOPLE:,} reports, these epochs have {context.n:,}: "
            "release fewer epochs at a time"
        )
    none = read_name("none", complete["none"], labels)
    places = [place for place, label in enumerate(labels) if label != none]
    goods = tuple(labels[place] for place in places)
    return Goods(
        none=none,
        labels=goods,
        places=np.array(places),
        supply=np.array(_each("supply", complete["supply"], len(goods), _units)),
        buyers=_unless("buyers", complete["buyers"], "reports", most=MOST_PEOPLE),
        rounds=_unless(
            "rounds", complete["rounds"], "epochs", least=len(context.epochs), most=MOST_ROUNDS
        ),
        first=tuple(_each("start", complete["start"], len(goods), _price)),
    )


def _labels(context: ReleaseContext) -> tuple[str, ...]:
    able = ids_for_target("allocations")
    if not isinstance(context.domain, Choice) or context.mechanism.id not in able:
        names = " or ".join(f'"{each}"' for each in able)
        raise ParameterError(
            "allocate needs a choice of goods, with one label for taking none of them, "
            f'answered by {names}, got {context.domain.type} answered by "{context.mechanism.id}"'
        )
    if not 2 <= context.domain.size <= MOST_GOODS:
        raise ParameterError(
            f"allocate takes 2 to {MOST_GOODS:,} labels, this domain has {context.domain.size:,}"
        )
    return context.domain.labels


def _each(
    argument: str, value: object, goods: int, read: Callable[[str, object], One]
) -> list[One]:
    """One value for all goods, or a list with one for each."""
    if not isinstance(value, list):
        return [read(argument, value)] * goods
    if len(value) != goods:
        raise ParameterError(
            f"{argument} must be one for all {goods} goods or a list of {goods}, in the order of "
            f"the labels, got a list of {len(value)}"
        )
    return [read(argument, each) for each in value]


def _units(argument: str, value: object) -> int:
    return read_whole(argument, value, low=0, high=MOST_PEOPLE)


def _price(argument: str, value: object) -> Fraction:
    price = Fraction(value) if isinstance(value, str) and _PRICE.fullmatch(value) else Fraction(-1)
    if not 0 <= price <= Fraction(HIGHEST):
        raise ParameterError(
            f'{argument} must be decimal texts in [0, {HIGHEST:g}], like "0.25", at most six '
            f"digits after the point, got {value!r:.40}"
        )
    return price


def _unless(argument: str, value: object, word: str, *, most: int, least: int = 1) -> int | None:
    return None if value == word else read_whole(argument, value, low=least, high=most)
