"""The JSON documents of releases and of the ledger, field by field, and the arguments they take.

ε, ρ and δ are decimal texts.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from deniable_aggregator.documents.fields import LATER, Arguments, EpochOrDate, Identifier


class ReleaseArguments(Arguments, frozen=True):
    """Whether only the price is asked for."""

    cost: Annotated[bool, Meta(description="true or false")] = False


class NewRelease(Arguments, forbid_unknown_fields=False, frozen=True):
    """A release to make: further members are the arguments of its mechanism.

    `epochs` lists them one by one instead of `from` and `to`; without any, every closed one.
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
    """A question to an open session: its members are what the mechanism takes."""


class LedgerArguments(Arguments, frozen=True):
    """Whose ledger; every collection's when none is named."""

    collection: (
        Annotated[str, Meta(pattern="^[a-z0-9-]{1,64}$", description="id or name of a collection")]
        | UnsetType
    ) = UNSET


class CostDocument(Struct, frozen=True, kw_only=True):
    """ε, ρ (zCDP) and δ as decimal texts: costs rounded up, limits and what is left down."""

    epsilon: Annotated[str | None, Meta(description="null where none is claimed")]
    rho: Annotated[
        str | None, Meta(description="null where none is claimed; of a limit: it counts ε only")
    ]
    delta: str


class PromiseDocument(Struct, frozen=True, kw_only=True):
    """What a release guarantees to whom, under replacement of what is named."""

    protects: Annotated[
        Literal["reports and true values", "local only"],
        Meta(description="local only: readers see more than releases, so ε of the answers counts"),
    ]
    against: str
    reports: Annotated[int, Meta(description="J: most reports of one installation in it")]
    report: CostDocument
    installation: Annotated[
        CostDocument | None, Meta(description="J·ε, J²·ρ; null where δ would reach 1")
    ]
    local: Annotated[str, Meta(description="ε that all answers of one installation have anyway")]
    true_values: Annotated[
        CostDocument | None,
        Meta(description="of both together; null unless nothing but releases may be read"),
    ]


class BarDocument(Struct, frozen=True):
    """`quantity` lies within [lower, upper] with at least this probability; null: no end."""

    quantity: str
    lower: float | None
    upper: float | None
    confidence: float


class TypicalErrorDocument(Struct, frozen=True):
    """The usual error, simulated for made-up people, as many as there are reports. No guarantee."""

    quantity: str
    median: Annotated[float, Meta(description="half of the simulated runs were off by at most so")]
    p95: Annotated[float, Meta(description="95 of 100 simulated runs were off by at most so")]
    population: Annotated[str, Meta(description="the made-up population of the largest p95")]
    runs: Annotated[int, Meta(description="how many releases were simulated")]


class RemainingDocument(Struct, frozen=True):
    """Of a budget: ε adds up or, where there is a limit to it, ρ does; one of them suffices."""

    limit: CostDocument
    spent: CostDocument
    left: CostDocument


class PlannedDocument(Struct, frozen=True, kw_only=True):
    """What is known of a release before it is drawn.

    `n` is missing from releases that were made before it was shown of every collection.
    """

    collection: Identifier
    mechanism: str
    version: Annotated[int, Meta(description="of the law behind the mechanism's name")]
    parameters: dict[str, Any]
    epochs: Annotated[list[int], Meta(description="the closed epochs it reads, each charged")]
    n: Annotated[int, Meta(description="reports in these epochs")] | UnsetType = UNSET
    too_few_reports: (
        Annotated[
            list[int],
            Meta(description="epochs asked for and left out: fewer than min_batch reports"),
        ]
        | UnsetType
    ) = UNSET
    law: Annotated[str, Meta(description="what the result is drawn from")]
    unit: str
    adjacency: Annotated[str, Meta(description="which data sets are neighbours")]
    guarantee: CostDocument
    promise: PromiseDocument
    questions: Annotated[bool, Meta(description="whether it opens a session of free questions")]
    typical_errors: Annotated[
        list[TypicalErrorDocument] | UnsetType,
        Meta(description="simulated, no guarantee; left out by mechanisms that are not simulated"),
    ] = UNSET


class LogPlaceDocument(Struct, frozen=True):
    """Entry `index` of the log is SHA-256(salt ‖ the document without `log`, as canonical JSON)."""

    index: int
    salt: str


class ReleaseDocument(PlannedDocument, frozen=True, kw_only=True):
    """A release: what was drawn, and everything that may be said of it. `created` is the charge."""

    release: str
    created: int
    result: dict[str, Any]
    error_bars: list[BarDocument]
    log: LogPlaceDocument | UnsetType = UNSET


class BudgetDocument(Struct, frozen=True):
    """Of the epoch read that has least left, and of one installation."""

    epoch: RemainingDocument
    installation: RemainingDocument


class QuoteDocument(PlannedDocument, frozen=True, kw_only=True):
    """What a release would cost; nothing was charged."""

    expected: Annotated[list[BarDocument], Meta(description="how far off it may be")]
    budget: BudgetDocument
    after: Annotated[
        BudgetDocument | None, Meta(description="the budget behind it; null where it is refused")
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
    """A release that was charged; `state` charged: not made, the same request makes it, free."""

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
    """Every release that was charged, oldest first."""

    collection: Identifier
    releases: list[ReleaseSummary]


class SpentEpochsDocument(Struct, frozen=True):
    """Epochs that follow each other, both included, with what each of them has left."""

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
    """A charge that stands for a forgotten one."""

    collection: Identifier
    release: str
    epochs: list[int]
    adjacency: str
    guarantee: CostDocument


class ReconciledDocument(Struct, frozen=True):
    """What an older copy of the database had forgotten, now charged; empty where nothing was."""

    charged: list[ReconciledCharge]
    exhausted: Annotated[
        list[Identifier],
        Meta(description="collections whose whole budget was charged: what they lost is not known"),
    ]
    lost: Annotated[
        list[Identifier],
        Meta(
            description="collections that were registered here and that the database does not "
            "have: their uploads get 503 until they are restored or registered again",
            extra_json_schema=LATER,
        ),
    ] = field(default_factory=list)


class LedgerDocument(Struct, frozen=True):
    """What releases have cost, and what is left."""

    collections: list[AccountDocument]
