"""The arguments of estimates and series."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from deniable_aggregator.documents.fields import Arguments, Candidates, Confidence, Family, Tables

EpochOrMoment = Annotated[
    str,
    Meta(
        pattern="^([0-9]{1,10}|[0-9]{11,14}|[0-9]{4}-[0-9]{2}-[0-9]{2})$",
        description="an epoch index (0 to 4294967295), a date (YYYY-MM-DD, UTC) or unix "
        "milliseconds of 11 to 14 digits",
    ),
]


class EstimatesArguments(Arguments, frozen=True):
    """The arguments of estimates."""

    first: EpochOrMoment | UnsetType = field(default=UNSET, name="from")
    last: EpochOrMoment | UnsetType = field(default=UNSET, name="to")
    confidence: Confidence = 0.95
    projection: Annotated[
        Literal["none", "simplex", "clip", "mle", "ems", "top-down", "base-cut"],
        Meta(
            description="none, simplex (choices), clip (bits), mle, ems, top-down (numbers) or "
            "base-cut"
        ),
    ] = "none"
    family: Family = "each"
    group_by: Annotated[Literal["epoch"], Meta(description="epoch")] | UnsetType = UNSET
    marginal: Tables = field(default_factory=list)
    candidate: Candidates = field(default_factory=list)
    sets: Annotated[
        list[str],
        Meta(
            max_length=64,
            description="labels of choices, with commas: their share together; repeatable",
        ),
    ] = field(default_factory=list, name="set")
    ranges: Annotated[
        list[str],
        Meta(
            max_length=64,
            description="a..b, two values of a collection of numbers, both included: the share of "
            "people between them; repeatable",
        ),
    ] = field(default_factory=list, name="range")
    quantiles: Annotated[
        list[str],
        Meta(
            max_length=64,
            description="a number strictly between 0 and 1: the quantile of a collection of "
            "numbers, instead of the usual five; repeatable",
        ),
    ] = field(default_factory=list, name="quantile")
    significant: (
        Annotated[
            Literal["holm", "bonferroni"],
            Meta(description="holm or bonferroni: marks labels that someone has, tested together"),
        ]
        | UnsetType
    ) = UNSET
    liars: (
        Annotated[
            float,
            Meta(ge=0, lt=1, description="a share of fake reports, at least 0 and below 1"),
        ]
        | UnsetType
    ) = UNSET


class SeriesArguments(Arguments, frozen=True):
    """The arguments of a series: labels, and the first and last epoch."""

    labels: Annotated[
        list[str],
        Meta(
            max_length=100,
            description="a label of the collection; repeatable, up to 100 labels",
        ),
    ] = field(default_factory=list, name="label")
    first: EpochOrMoment | UnsetType = field(default=UNSET, name="from")
    last: EpochOrMoment | UnsetType = field(default=UNSET, name="to")
    confidence: Confidence = 0.95
    family: Family = "each"
