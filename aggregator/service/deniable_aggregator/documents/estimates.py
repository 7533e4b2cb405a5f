"""What estimates are answered as, one Struct each."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from deniable_aggregator.documents.fields import Identifier


class SeriesRow(Struct, frozen=True, kw_only=True):
    """One label in one epoch, which begins at `time`: raw, with its interval."""

    time: Annotated[str, Meta(description="as 2027-01-15T00:00:00Z")]
    epoch: int
    label: str
    frequency: float | None
    value: (
        Annotated[
            float | None,
            Meta(description="numbers: of mean and quantiles, in the units of the domain"),
        ]
        | UnsetType
    ) = UNSET
    lower: float | None
    upper: float | None
    std_error: float | None
    n: int
    provisional: bool


class SeriesDocument(Struct, frozen=True, kw_only=True):
    """A page of flat rows, epoch by epoch."""

    collection: Identifier
    confidence: float
    rows: list[SeriesRow]
    too_few_reports: Annotated[list[int], Meta(description="epochs that have no rows, for that")]
    next: Annotated[int | None, Meta(description="`from` of the next page; null: there is none")]


class LabelEstimate(Struct, frozen=True, kw_only=True):
    """One label: raw (it may lie outside [0, 1]), unbiased, null when nothing was reported."""

    label: str
    count: Annotated[
        float | None, Meta(description="n × frequency, not rounded: people, if each reports once")
    ]
    frequency: float | None
    std_error: float | None
    lower: float | None
    upper: float | None
    projected: float | UnsetType | None = UNSET
    reports_to_leave_interval: Annotated[
        int | None,
        Meta(description="fewest fabricated reports that push the frequency out; null: none can"),
    ]
    devices_to_leave_interval: Annotated[
        int | None,
        Meta(description="fewest devices that fabricate so many, one in each epoch; null: none"),
    ]
    reports: (
        Annotated[int, Meta(description="texts: how many of the reports tell of this one")]
        | UnsetType
    ) = UNSET
    significant: (
        Annotated[bool, Meta(description="whether somebody has it, none wrongly at `confidence`")]
        | UnsetType
    ) = UNSET
    lower_under_lies: (
        Annotated[float, Meta(description="as `lower`, whatever a share `liars` made up")]
        | UnsetType
    ) = UNSET
    upper_under_lies: (
        Annotated[float, Meta(description="as `upper`, whatever a share `liars` made up")]
        | UnsetType
    ) = UNSET
    liars_to_zero: (
        Annotated[
            float,
            Meta(description="least share of made-up reports with which the interval reaches 0"),
        ]
        | UnsetType
    ) = UNSET


class SetDocument(Struct, frozen=True, kw_only=True):
    """The share of people whose value is one of these labels: raw, with its own interval."""

    labels: list[str]
    count: float | None
    frequency: float | None
    std_error: float | None
    lower: float
    upper: float


class WarningDocument(Struct, frozen=True, kw_only=True):
    """What at most one honest estimate in a million shows, whatever people answered."""

    kind: Annotated[
        Literal["unused-code", "unused-codes", "weight"],
        Meta(description="a code that stands for no label, all of these, or all supports"),
    ]
    seen: Annotated[int, Meta(description="supports that were counted")]
    expected: Annotated[float, Meta(description="supports that honest reports give on average")]
    meaning: str


class QuantityDocument(Struct, frozen=True, kw_only=True):
    """One number in the units of the domain, null when nothing was reported."""

    name: Annotated[str, Meta(description="mean, or p10 for the quantile of 10%")]
    value: float | None
    std_error: float | None
    lower: float
    upper: float


class RangeDocument(Struct, frozen=True, kw_only=True):
    """The share of people from one value to another, both included: raw, with its own interval."""

    low: str
    high: str
    count: float | None
    frequency: float | None
    std_error: float | None
    lower: float
    upper: float


class ClippedDocument(Struct, frozen=True, kw_only=True):
    """What numbers were told as: beyond an end as that end, else the nearest step from low."""

    low: str
    high: str
    step: str


class AssociationDocument(Struct, frozen=True, kw_only=True):
    """Whether two attributes go together: a Wald test valid for randomized reports."""

    attributes: Annotated[list[str], Meta(min_length=2, max_length=2)]
    statistic: float | None = None
    degrees_of_freedom: int | None = None
    p_value: Annotated[
        float | None,
        Meta(description="chance of such a statistic or a larger one if they were independent"),
    ] = None
    undecided: Annotated[
        str | None, Meta(description="why there is no test; null if there is one")
    ] = None


class TrustDocument(Struct, frozen=True):
    """What fabricated reports can do."""

    influence: Annotated[
        float | None,
        Meta(
            description="most that one device can move a frequency; where a mean alone is told, "
            "that mean"
        ),
    ]


class HoldDocument(Struct, frozen=True):
    """One hold, whose values are those first recorded in it. Epochs, both included."""

    first: int
    last: int


class AnonymityDocument(Struct, frozen=True, kw_only=True):
    """What is left of ε for whoever sees what the relay passes on, but not who sent it."""

    batch: Annotated[int, Meta(description="least reports that the relay passes on together")]
    liars: Annotated[
        float, Meta(description="the share of a batch that is taken for made up: `liars`, else 0.5")
    ]
    reports: Annotated[int, Meta(description="the honest ones of a batch")]
    epsilon: Annotated[float, Meta(description="of one report, at `delta`")]
    delta: float
    epsilon_all: Annotated[
        float,
        Meta(
            description="of all that one person ever sends, at `delta_all`; memoized: the local one"
        ),
    ]
    delta_all: Annotated[float, Meta(description="0 where the local ε is the least there is")]
    conditions: Annotated[list[str], Meta(description="what has to be so for it to hold")]


class EstimatesDocument(Struct, frozen=True, kw_only=True):
    """Debiased frequencies of some epochs, pooled."""

    collection: Identifier
    mechanism: str
    epsilon: Annotated[str, Meta(description="ε of one whole report, exact: a decimal in a string")]
    repeat: Annotated[
        str,
        Meta(description="once; fresh, memoized: one device may have sent a report in each epoch"),
    ]
    target: Annotated[
        Literal["population"],
        Meta(description="the people the reporters stand for: what frequency and interval are of"),
    ] = "population"
    holds: (
        Annotated[
            list[HoldDocument],
            Meta(description="memoized: these are the values at the start of these holds"),
        ]
        | UnsetType
    ) = UNSET
    linkage: (
        Annotated[
            float, Meta(description="memoized: bits by which two reports of a hold show one device")
        ]
        | UnsetType
    ) = UNSET
    n: Annotated[int, Meta(description="reports")]
    epochs: Annotated[list[int], Meta(description="the epochs that were added up")]
    provisional: Annotated[bool, Meta(description="true when one of the epochs is still open")]
    confidence: float
    clipped: (
        Annotated[ClippedDocument, Meta(description="numbers: how they were clipped and rounded")]
        | UnsetType
    ) = UNSET
    mean: (
        Annotated[QuantityDocument, Meta(description="numbers: of all people, as clipped")]
        | UnsetType
    ) = UNSET
    quantiles: (
        Annotated[
            list[QuantityDocument],
            Meta(description="numbers: the least value that so many people do not exceed"),
        ]
        | UnsetType
    ) = UNSET
    ranges: (
        Annotated[list[RangeDocument], Meta(description="for each `range` that was asked for")]
        | UnsetType
    ) = UNSET
    estimates: Annotated[
        list[LabelEstimate], Meta(description="one a label; none where a mean alone is told")
    ]
    associations: (
        Annotated[
            list[AssociationDocument],
            Meta(description="records: for each table of two attributes that was asked for"),
        ]
        | UnsetType
    ) = UNSET
    evidence: (
        Annotated[
            Literal["held-out", "all"],
            Meta(
                description="texts: held-out: found ones, told by reports that the search did not "
                "see; all: given ones, for lists made without looking at these estimates"
            ),
        ]
        | UnsetType
    ) = UNSET
    sets: (
        Annotated[list[SetDocument], Meta(description="for each `set` that was asked for")]
        | UnsetType
    ) = UNSET
    likelihood_short: (
        Annotated[float, Meta(description="mle: nats that the log-likelihood is short of the most")]
        | UnsetType
    ) = UNSET
    warnings: (
        Annotated[
            list[WarningDocument], Meta(description="present if reports look made up; see `kind`")
        ]
        | UnsetType
    ) = UNSET
    trust: TrustDocument
    shuffled: (
        Annotated[
            AnonymityDocument,
            Meta(description="present where reports are taken from relays only (`relay_batch`)"),
        ]
        | UnsetType
    ) = UNSET

    @property
    def quantities(self) -> list[QuantityDocument]:
        """Mean and quantiles, those that there are."""
        return [*([self.mean] if self.mean else []), *(self.quantiles or [])]


class EstimatesByEpochDocument(Struct, frozen=True):
    """One document an epoch, and the epochs that have too few reports for one."""

    epochs: list[EstimatesDocument]
    too_few_reports: list[int]


EstimatesAnswer = EstimatesDocument | EstimatesByEpochDocument
