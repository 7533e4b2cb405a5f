"""The JSON document of a comparison of two periods, and its arguments; see `api.documents`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from deniable_aggregator.api.documents import Arguments, EpochOrDate, Identifier


class ComparisonArguments(Arguments, frozen=True):
    """Two periods: `from` to `to`, and the one before that it is held against."""

    first: EpochOrDate | UnsetType = field(default=UNSET, name="from")
    last: EpochOrDate | UnsetType = field(default=UNSET, name="to")
    before_first: EpochOrDate | UnsetType = field(default=UNSET, name="before_from")
    before_last: EpochOrDate | UnsetType = field(default=UNSET, name="before_to")
    confidence: Annotated[
        float, Meta(ge=0.5, le=0.9999, description="a number from 0.5 to 0.9999")
    ] = 0.95
    family: Annotated[
        Literal["each", "all"],
        Meta(description="each (an interval a label) or all (intervals that hold together)"),
    ] = "all"
    marginal: Annotated[
        list[str],
        Meta(
            max_length=64,
            description="names of attributes of a record, with commas: the table of these; "
            "once for each table",
        ),
    ] = field(default_factory=list)
    candidate: Annotated[
        list[str],
        Meta(
            max_length=1000,
            description="up to 1,000 texts that an answer may be, of a collection of texts; "
            "once for each text",
        ),
    ] = field(default_factory=list)


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
