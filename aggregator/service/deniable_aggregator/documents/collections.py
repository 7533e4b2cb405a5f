"""Documents and arguments about collections, their epochs and keys, the log, and health.

Requests are checked against these Structs, answers are encoded from them, and the OpenAPI document
is written from them. Clients decode answers with them: a member that came later has a default, for
services that do not send it yet.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from deniable_aggregator.documents.fields import LATER, Arguments, Identifier


class ManifestArguments(Arguments, frozen=True):
    """Which version; the newest when none is named."""

    version: (
        Annotated[int, Meta(ge=1, le=65535, description="a version from 1 to 65535")] | UnsetType
    ) = UNSET


class ListArguments(Arguments, frozen=True):
    """Whether archived collections are listed, too."""

    archived: Annotated[bool, Meta(description="true or false")] = False


class ApplyArguments(Arguments, frozen=True):
    """Whether a name may move to another collection."""

    replace: Annotated[bool, Meta(description="true or false")] = False


class CloseEpochArguments(Arguments, frozen=True):
    """Whether an epoch may close before its time."""

    early: Annotated[bool, Meta(description="true or false")] = False


class RotateArguments(Arguments, frozen=True):
    """Which kind of key, and whether it is used without waiting."""

    suite: Annotated[
        Literal[1, 2], Meta(description="1 (X25519) or 2 (MLKEM768-X25519, post-quantum)")
    ] = 1
    now: Annotated[bool, Meta(description="true or false")] = False


class LogArguments(Arguments, frozen=True):
    """Where the page begins."""

    first: Annotated[
        int, Meta(ge=0, le=9007199254740991, description="the index of an entry, from 0 on")
    ] = field(default=0, name="from")


class AttributeDocument(Struct, frozen=True):
    """One attribute of a record: each person has one of its labels."""

    name: str
    labels: list[str]


class DomainDocument(Struct, frozen=True, kw_only=True):
    """What may be answered."""

    type: Literal["bits", "choice", "number", "record", "text"]
    labels: Annotated[list[str], Meta(description="of bits and choices")] | UnsetType = UNSET
    constraint: Literal["one-hot", "at-most"] | UnsetType = UNSET
    at_most: int | UnsetType = UNSET
    low: Annotated[str, Meta(description="of numbers: a decimal in a string")] | UnsetType = UNSET
    high: Annotated[str, Meta(description="of numbers")] | UnsetType = UNSET
    step: Annotated[str, Meta(description="of numbers")] | UnsetType = UNSET
    attributes: Annotated[list[AttributeDocument], Meta(description="of records")] | UnsetType = (
        UNSET
    )
    max_bytes: Annotated[int, Meta(description="of texts")] | UnsetType = UNSET


class CollectionDocument(Struct, frozen=True, kw_only=True):
    """One collection by its newest manifest. Dates are 00:00 UTC, `expires` is exclusive."""

    collection: Identifier
    name: str
    purpose: str
    owner: str
    version: int
    state: Literal["open", "closed"]
    archived: Annotated[
        bool,
        Meta(
            description="lists leave it out unless they are asked for it", extra_json_schema=LATER
        ),
    ] = False
    mechanism: str
    epsilon: Annotated[str, Meta(description="ε of one whole report, exact: a decimal in a string")]
    repeat: str
    read: Literal["live", "closed", "releases"]
    requires: Annotated[
        list[str],
        Meta(description="extensions that every report carries", extra_json_schema=LATER),
    ] = field(default_factory=list)
    identified: Annotated[
        bool,
        Meta(
            description="whose report is whose can be told: no anonymity is claimed",
            extra_json_schema=LATER,
        ),
    ] = False
    epoch_seconds: int
    valid_from: str
    expires: str
    domain: DomainDocument


class CollectionsDocument(Struct, frozen=True):
    """Every collection that was asked for."""

    collections: list[CollectionDocument]


class EpochDocument(Struct, frozen=True, kw_only=True):
    """One epoch; times are unix seconds. There is no `n` where it may not be read, or is deleted.

    `expired`: closed so long ago that its tallies are deleted (`retention_days`).
    `fewer_than`, where only releases may be read: closed with fewer reports than so many, perhaps
    none, so no release reads it.
    """

    epoch: int
    start: int
    end: int
    closes: int
    state: Literal["open", "closed"]
    expired: Annotated[bool, Meta(extra_json_schema=LATER)] = False
    n: int | UnsetType = UNSET
    fewer_than: int | UnsetType = UNSET


class EpochsDocument(Struct, frozen=True, kw_only=True):
    """The epochs of a collection. No `rejections` where only releases may be read."""

    collection: Identifier
    epoch_seconds: int
    grace_seconds: int
    epochs: list[EpochDocument]
    rejections: dict[str, int] | UnsetType = UNSET


class AppliedDocument(Struct, frozen=True, kw_only=True):
    """What registering a manifest led to."""

    collection: Identifier
    name: str
    version: int
    created: bool


class ClosedDocument(Struct, frozen=True, kw_only=True):
    """A collection that takes no more reports."""

    collection: Identifier
    state: Literal["closed"] = "closed"


class ArchivedDocument(Struct, frozen=True, kw_only=True):
    """Whether lists leave out a collection."""

    collection: Identifier
    archived: bool


class ClosedEpochDocument(Struct, frozen=True, kw_only=True):
    """An epoch that takes no more reports; `changed` says whether it still did."""

    collection: Identifier
    epoch: int
    state: Literal["closed"] = "closed"
    changed: Annotated[bool, Meta(extra_json_schema=LATER)] = True


class RotatedDocument(Struct, frozen=True, kw_only=True):
    """The newest key of a suite; `active_from` in unix seconds."""

    id: int
    suite: int
    state: Literal["pending", "active"]
    active_from: int


class LogDocument(Struct, frozen=True, kw_only=True):
    """A page of the log; head and hashes are SHA-256 in hex."""

    size: Annotated[int, Meta(description="entries in the whole log")]
    head: Annotated[str, Meta(description="the head after the last of them")]
    entries: Annotated[
        list[Annotated[list[str], Meta(min_length=2, max_length=2)]],
        Meta(description="[type, hash of the body] each: manifest, keys or release"),
    ]


class StatusDocument(Struct, frozen=True):
    """One word."""

    status: str


class ReadyDocument(Struct, frozen=True):
    """One word, and the same of each check."""

    status: str
    checks: dict[str, str]


class ProblemDocument(Struct, frozen=True, kw_only=True):
    """RFC 9457: what went wrong, what is accepted, what was given, whether to try again."""

    type: str
    title: str
    status: int
    detail: str
    retry: bool
    argument: str | UnsetType = UNSET
    accepted: str | UnsetType = UNSET
    given: str | UnsetType = UNSET
