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
    """Two periods: `from` to `to`, and the one before that it is held against."""

    first: EpochOrDate | UnsetType = field(default=UNSET, name="from")
    last: EpochOrDate | UnsetType = field(default=UNSET, name="to")
    before_first: EpochOrDate | UnsetType = field(default=UNSET, name="before_from")
    before_last: EpochOrDate | UnsetType = field(default=UNSET, name="before_to")
    confidence: Confidence = 0.95
    family: Family = "all"


class ComparisonArguments(TwoPeriods, frozen=True):
    """Two periods, and what to compare beside the labels."""

    marginal: Tables = field(default_factory=list)
    candidate: Candidates = field(default_factory=list)


class PeriodDocument(Struct, frozen=True):
    """The reports of one period; provisional if an epoch of it is open."""

    epochs: list[int]
    n: int
    provisional: bool


class DifferenceDocument(Struct, frozen=True, kw_only=True):
    """`after` less `before`; of labels shares of people, of numbers in the units of the domain.

    All three are raw. `changed`: the interval leaves 0 out.
    """

    label: Annotated[str, Meta(description="a label, or mean, or a quantile like p50")]
    before: float | None
    after: float | None
    difference: float | None
    lower: float
    upper: float
    changed: bool


class ComparisonDocument(Struct, frozen=True, kw_only=True):
    """What changed from one period to another, and how sure that is."""

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
    changed: Annotated[int, Meta(description="how many intervals leave 0 out")]
    differences: list[DifferenceDocument]
