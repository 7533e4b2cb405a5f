"""The JSON documents of releases and of the ledger, and their arguments.

ε, ρ and δ are decimal texts.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from deniable_aggregator.documents.fields import LATER, Arguments, EpochOrDate, Identifier


class ReleaseArguments(Arguments, frozen=True):
    """Whether to return only the price."""

    cost: Annotated[bool, Meta(description="true or false")] = False


class NewRelease(Arguments, forbid_unknown_fields=False, frozen=True):
    """A release to make. Further members are the arguments of its mechanism.

    `epochs` lists single epochs instead of `from` and `to`; by default every closed one.
    """

    mechanism: Annotated[
        str, Meta(min_length=1, max_length=64, description="the name of a mechanism of releases")
    ]
    first: EpochOrDate | int | UnsetType = field(default=UNSET, name="from")
    last: EpochOrDate | int | UnsetType = field(default=UNSET, name="to")
    epochs: (
        Annotated[
            list[Annotated[int, Meta(ge=0, le=4294967295)]],
            Meta(
                min_length=1,
                max_length=1000,
                description="a list of 1 to 1000 epoch indices, without from and to",
            ),
        ]
        | UnsetType
    ) = UNSET
    cost: Annotated[bool, Meta(description="true (the price, nothing is charged) or false")] = False


class Question(Arguments, forbid_unknown_fields=False, frozen=True):
    """A question to an open session, with the members that its mechanism takes."""


class LedgerArguments(Arguments, frozen=True):
    """The collection of the ledger; by default all."""

    collection: (
        Annotated[str, Meta(pattern="^[a-z0-9-]{1,64}$", description="id or name of a collection")]
        | UnsetType
    ) = UNSET


class CostDocument(Struct, frozen=True, kw_only=True):
    """ε, ρ (zCDP) and δ as decimal texts: costs rounded up, limits and the rest rounded down."""

    epsilon: Annotated[str | None, Meta(description="null if none is claimed")]
    rho: Annotated[
        str | None, Meta(description="null if none is claimed; of a limit: only ε counts")
    ]
    delta: str


class PromiseDocument(Struct, frozen=True, kw_only=True):
    """The guarantees of a release, under replacement of the named unit."""

    protects: Annotated[
        Literal["reports and true values", "local only"],
        Meta(description="local only: readers see more than releases, so ε of the answers counts"),
    ]
    against: str
    reports: Annotated[int, Meta(description="J: most reports of one installation in it")]
    report: CostDocument
    installation: Annotated[
        CostDocument | None, Meta(description="J·ε, J²·ρ; null if δ would reach 1")
    ]
    local: Annotated[str, Meta(description="local ε of all answers of one installation")]
    true_values: Annotated[
        CostDocument | None,
        Meta(description="of both together; null unless only releases may be read"),
    ]


class BarDocument(Struct, frozen=True):
    """`quantity` is in [lower, upper] with at least this probability; null: no end."""

    quantity: str
    lower: float | None
    upper: float | None
    confidence: float


class TypicalErrorDocument(Struct, frozen=True):
    """The usual error, simulated for as many people as there are reports. No guarantee."""

    quantity: str
    median: Annotated[float, Meta(description="largest error in half of the simulated runs")]
    p95: Annotated[float, Meta(description="largest error in 95 of 100 simulated runs")]
    population: Annotated[str, Meta(description="the simulated population with the largest p95")]
    runs: Annotated[int, Meta(description="how many releases were simulated")]


class RemainingDocument(Struct, frozen=True):
    """The rest of a budget. A release needs enough ε or, if ρ has a limit, enough ρ."""

    limit: CostDocument
    spent: CostDocument
    left: CostDocument


class PlannedDocument(Struct, frozen=True, kw_only=True):
    """The part of a release that is known before the draw.

    `n` is missing in releases of older versions.
    """

    collection: Identifier
    mechanism: str
    version: Annotated[int, Meta(description="version of the mechanism's distribution")]
    parameters: dict[str, Any]
    epochs: Annotated[list[int], Meta(description="the closed epochs it reads, each charged")]
    n: Annotated[int, Meta(description="reports in these epochs")] | UnsetType = UNSET
    too_few_reports: (
        Annotated[
            list[int],
            Meta(description="requested epochs with fewer than min_batch reports, left out"),
        ]
        | UnsetType
    ) = UNSET
    law: Annotated[str, Meta(description="the distribution of the result")]
    unit: str
    adjacency: Annotated[str, Meta(description="which data sets are neighbours")]
    guarantee: CostDocument
    promise: PromiseDocument
    questions: Annotated[bool, Meta(description="whether it opens a session of free questions")]
    typical_errors: Annotated[
        list[TypicalErrorDocument] | UnsetType,
        Meta(description="simulated, no guarantee; missing if it is not simulated"),
    ] = UNSET


class LogPlaceDocument(Struct, frozen=True):
    """Entry `index` of the log is SHA-256(salt ‖ the document without `log`, as canonical JSON)."""

    index: int
    salt: str


class ReleaseDocument(PlannedDocument, frozen=True, kw_only=True):
    """A release: its result and public facts. `created`: the time of the charge."""

    release: str
    created: int
    result: dict[str, Any]
    error_bars: list[BarDocument]
    log: LogPlaceDocument | UnsetType = UNSET


class BudgetDocument(Struct, frozen=True):
    """The rest of the budget, of the read epoch with least left, and of one installation."""

    epoch: RemainingDocument
    installation: RemainingDocument


class QuoteDocument(PlannedDocument, frozen=True, kw_only=True):
    """The price of a release that is not charged."""

    expected: Annotated[list[BarDocument], Meta(description="bounds of the error")]
    budget: BudgetDocument
    after: Annotated[
        BudgetDocument | None, Meta(description="the budget afterwards; null if it is refused")
    ]
    stored: Annotated[
        str | None, Meta(description="the release that the same request has paid for: free")
    ]
    refusal: Annotated[str | None, Meta(description="why the budget does not allow it")]


class AnswerDocument(Struct, frozen=True):
    """An answer of an open session."""

    release: str
    result: dict[str, Any]
    error_bars: list[BarDocument]
    questions_left: Annotated[int, Meta(description="how many new questions it still answers")]


class ReleaseSummary(Struct, frozen=True, kw_only=True):
    """A charged release; `state` charged: not yet made, the same request makes it for free."""

    release: str
    created: int
    mechanism: str
    version: int
    parameters: dict[str, Any]
    epochs: list[int]
    adjacency: str
    guarantee: CostDocument
    state: Literal["charged", "made"]


class ReleasesDocument(Struct, frozen=True):
    """Every charged release, oldest first."""

    collection: Identifier
    releases: list[ReleaseSummary]


class PublicReleasesDocument(Struct, frozen=True):
    """Every release of a public question, newest first."""

    collection: Identifier
    purpose: str
    releases: list[ReleaseDocument]


class SpentEpochsDocument(Struct, frozen=True):
    """A run of epochs from first to last, with the rest of the budget of each."""

    first: int
    last: int
    limit: CostDocument
    spent: CostDocument
    left: CostDocument


class AccountDocument(Struct, frozen=True, kw_only=True):
    """The ledger of one collection. An epoch that is not listed has all of `per_epoch` left."""

    collection: Identifier
    name: str
    per_epoch: CostDocument
    reports: Annotated[
        int | None, Meta(description="most reports of one installation; null: one an epoch")
    ]
    installation: RemainingDocument
    epochs: list[SpentEpochsDocument]
    releases: list[ReleaseSummary]


class ReconciledCharge(Struct, frozen=True):
    """A charge that replaces a lost one."""

    collection: Identifier
    release: str
    epochs: list[int]
    adjacency: str
    guarantee: CostDocument


class ReconciledDocument(Struct, frozen=True):
    """The added charges that an older copy of the database lacked."""

    charged: list[ReconciledCharge]
    exhausted: Annotated[
        list[Identifier],
        Meta(description="collections whose whole budget was charged: their losses are unknown"),
    ]
    lost: Annotated[
        list[Identifier],
        Meta(
            description="collections that were registered here but that the database does not "
            "have: their uploads get 503 until they are restored or registered again",
            extra_json_schema=LATER,
        ),
    ] = field(default_factory=list)


class LedgerDocument(Struct, frozen=True):
    """The spent and remaining budgets of releases."""

    collections: list[AccountDocument]
