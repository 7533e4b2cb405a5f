"""The JSON document of a comparison of two periods, and its arguments."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from deniable_aggregator.documents.fields import (
    Arguments,
    Candidates,
    Confidence,
    EpochOrDate,
    Family,
    Identifier,
    Tables,
)


class TwoPeriods(Arguments, frozen=True):
    """Two periods: `from` to `to`, and the earlier one that it is compared with."""

    first: EpochOrDate | UnsetType = field(default=UNSET, name="from")
    last: EpochOrDate | UnsetType = field(default=UNSET, name="to")
    before_first: EpochOrDate | UnsetType = field(default=UNSET, name="before_from")
    before_last: EpochOrDate | UnsetType = field(default=UNSET, name="before_to")
    confidence: Confidence = 0.95
    family: Family = "all"


class ComparisonArguments(TwoPeriods, frozen=True):
    """Two periods, and the tables or texts to compare."""

    marginal: Tables = field(default_factory=list)
    candidate: Candidates = field(default_factory=list)


class PeriodDocument(Struct, frozen=True):
    """The reports of one period; provisional if an epoch of it is open."""

    epochs: list[int]
    n: int
    provisional: bool


class DifferenceDocument(Struct, frozen=True, kw_only=True):
    """`after` minus `before`: shares of people for labels, units of the domain for numbers.

    All three are raw. `changed`: the interval excludes 0.
    """

    label: Annotated[str, Meta(description="a label, or mean, or a quantile like p50")]
    before: float | None
    after: float | None
    difference: float | None
    lower: float
    upper: float
    changed: bool


class ComparisonDocument(Struct, frozen=True, kw_only=True):
    """The changes from one period to another, with their intervals."""

    collection: Identifier
    mechanism: str
    repeat: str
    before: PeriodDocument
    after: PeriodDocument
    confidence: float
    family: str
    unit: Annotated[
        Literal["share", "value"],
        Meta(description="share of people, or value in the units of the domain"),
    ]
    changed: Annotated[int, Meta(description="how many intervals exclude 0")]
    differences: list[DifferenceDocument]
