"""The documents of estimates and series."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from deniable_aggregator.documents.fields import Identifier

EpochNote = (
    Annotated[str, Meta(description="what was noted in this epoch, if anything")] | UnsetType
)


class SeriesRow(Struct, frozen=True, kw_only=True):
    """One label in one epoch, which begins at `time`: raw estimate and interval."""

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
    note: EpochNote = UNSET


class SeriesDocument(Struct, frozen=True, kw_only=True):
    """A page of flat rows, epoch by epoch."""

    collection: Identifier
    confidence: float
    rows: list[SeriesRow]
    too_few_reports: Annotated[list[int], Meta(description="epochs with too few reports for rows")]
    next: Annotated[int | None, Meta(description="`from` of the next page; null: there is none")]


class LabelEstimate(Struct, frozen=True, kw_only=True):
    """One label: unbiased, may lie outside [0, 1]; null without reports."""

    label: str
    count: Annotated[
        float | None, Meta(description="n × frequency, not rounded: people, if each reports once")
    ]
    frequency: float | None
    std_error: float | None
    lower: float | None
    upper: float | None
    projected: float | UnsetType | None = UNSET
    projected_lower: (
        Annotated[float, Meta(description="the lesser of `lower` and `projected`")]
        | UnsetType
        | None
    ) = UNSET
    projected_upper: (
        Annotated[float, Meta(description="the greater of `upper` and `projected`")]
        | UnsetType
        | None
    ) = UNSET
    reports_to_leave_interval: Annotated[
        int | None,
        Meta(description="fewest fake reports that move the frequency outside; null: none can"),
    ]
    devices_to_leave_interval: Annotated[
        int | None,
        Meta(description="fewest devices for that many fake reports, one an epoch; null: none"),
    ]
    reports: (
        Annotated[int, Meta(description="texts: how many of the reports are about this one")]
        | UnsetType
    ) = UNSET
    significant: (
        Annotated[bool, Meta(description="someone has it; all marks are right with `confidence`")]
        | UnsetType
    ) = UNSET
    lower_under_lies: (
        Annotated[float, Meta(description="as `lower`, even if a share `liars` is fake")]
        | UnsetType
    ) = UNSET
    upper_under_lies: (
        Annotated[float, Meta(description="as `upper`, even if a share `liars` is fake")]
        | UnsetType
    ) = UNSET
    liars_to_zero: (
        Annotated[
            float,
            Meta(description="least share of fake reports with which the interval reaches 0"),
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
    """A sign of fake reports: at most one honest estimate in a million has it."""

    kind: Annotated[
        Literal["unused-code", "unused-codes", "weight"],
        Meta(description="a code without a label, all of these, or all supports"),
    ]
    seen: Annotated[int, Meta(description="supports that were counted")]
    expected: Annotated[float, Meta(description="supports that honest reports give on average")]
    meaning: str


class QuantityDocument(Struct, frozen=True, kw_only=True):
    """One number in the units of the domain; null without reports."""

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
    """How numbers were reported: clipped to the ends, rounded to steps from `low`."""

    low: str
    high: str
    step: str


class AssociationDocument(Struct, frozen=True, kw_only=True):
    """Whether two attributes are related: a Wald test that is valid for randomized reports."""

    attributes: Annotated[list[str], Meta(min_length=2, max_length=2)]
    statistic: float | None = None
    degrees_of_freedom: int | None = None
    p_value: Annotated[
        float | None,
        Meta(description="probability of this statistic or a larger one if they were independent"),
    ] = None
    undecided: Annotated[
        str | None, Meta(description="why there is no test; null if there is one")
    ] = None


class TrustDocument(Struct, frozen=True):
    """The effect of fake reports."""

    influence: Annotated[
        float | None,
        Meta(
            description="most that one device can move a frequency; if there is only a mean, "
            "the mean"
        ),
    ]


class HoldDocument(Struct, frozen=True):
    """One hold from its first to its last epoch; its values are those first recorded in it."""

    first: int
    last: int


class AnonymityDocument(Struct, frozen=True, kw_only=True):
    """The ε that remains against readers who see a relay's batches, but not the senders."""

    batch: Annotated[int, Meta(description="least reports that the relay passes on together")]
    liars: Annotated[
        float, Meta(description="the share of a batch that is assumed fake: `liars`, else 0.5")
    ]
    reports: Annotated[int, Meta(description="the honest ones of a batch")]
    epsilon: Annotated[float, Meta(description="of one report, at `delta`")]
    delta: float
    epsilon_all: Annotated[
        float,
        Meta(description="of all reports of one person, at `delta_all`; memoized: the local one"),
    ]
    delta_all: Annotated[float, Meta(description="0 if the local ε is the least one")]
    conditions: Annotated[list[str], Meta(description="the conditions under which it holds")]


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
        Meta(description="whom frequency and interval are about"),
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
            float, Meta(description="memoized: bits that link two reports of a hold to one device")
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
            Meta(description="numbers: the least value that this share of people does not exceed"),
        ]
        | UnsetType
    ) = UNSET
    ranges: (
        Annotated[list[RangeDocument], Meta(description="for each `range` of the request")]
        | UnsetType
    ) = UNSET
    estimates: Annotated[
        list[LabelEstimate], Meta(description="one for each label; none if there is only a mean")
    ]
    associations: (
        Annotated[
            list[AssociationDocument],
            Meta(description="records: for each table of two attributes in the request"),
        ]
        | UnsetType
    ) = UNSET
    evidence: (
        Annotated[
            Literal["held-out", "all"],
            Meta(
                description="texts: held-out: discovered, from reports that the search did not "
                "use; all: given ones, for lists made without looking at these estimates"
            ),
        ]
        | UnsetType
    ) = UNSET
    sets: (
        Annotated[list[SetDocument], Meta(description="for each `set` of the request")] | UnsetType
    ) = UNSET
    likelihood_short: (
        Annotated[float, Meta(description="mle: nats of the log-likelihood below the maximum")]
        | UnsetType
    ) = UNSET
    warnings: (
        Annotated[
            list[WarningDocument], Meta(description="present if reports look fake; see `kind`")
        ]
        | UnsetType
    ) = UNSET
    trust: TrustDocument
    shuffled: (
        Annotated[
            AnonymityDocument,
            Meta(description="present if only relays may send reports (`relay_batch`)"),
        ]
        | UnsetType
    ) = UNSET

    @property
    def quantities(self) -> list[QuantityDocument]:
        """Mean and quantiles that are present."""
        return [*([self.mean] if self.mean else []), *(self.quantiles or [])]

    note: EpochNote = UNSET


class EstimatesByEpochDocument(Struct, frozen=True):
    """One document for each epoch, and the epochs with too few reports."""

    epochs: list[EstimatesDocument]
    too_few_reports: list[int]


EstimatesAnswer = EstimatesDocument | EstimatesByEpochDocument
