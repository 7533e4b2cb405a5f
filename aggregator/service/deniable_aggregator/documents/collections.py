"""Documents and arguments about collections, their epochs and keys, the log, and health.

These Structs check requests, encode answers, and make the OpenAPI document. Clients decode answers
with them: a later member has a default, for older services that do not send it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from deniable_aggregator.documents.fields import LATER, Arguments, Identifier


class ManifestArguments(Arguments, frozen=True):
    """The version; by default the newest."""

    version: (
        Annotated[int, Meta(ge=1, le=65535, description="a version from 1 to 65535")] | UnsetType
    ) = UNSET


class ListArguments(Arguments, frozen=True):
    """Whether to list archived collections, too."""

    archived: Annotated[bool, Meta(description="true or false")] = False


class ApplyArguments(Arguments, frozen=True):
    """Whether a name may move to another collection."""

    replace: Annotated[bool, Meta(description="true or false")] = False


class CloseEpochArguments(Arguments, frozen=True):
    """Whether an epoch may close early."""

    early: Annotated[bool, Meta(description="true or false")] = False


class RotateArguments(Arguments, frozen=True):
    """The suite of the key, and whether it is used at once."""

    suite: Annotated[
        Literal[1, 2], Meta(description="1 (X25519) or 2 (MLKEM768-X25519, post-quantum)")
    ] = 1
    now: Annotated[bool, Meta(description="true or false")] = False


class LogArguments(Arguments, frozen=True):
    """The first entry of the page."""

    first: Annotated[
        int, Meta(ge=0, le=9007199254740991, description="the index of an entry, from 0 on")
    ] = field(default=0, name="from")


class AttributeDocument(Struct, frozen=True):
    """One attribute of a record: each person has one of its labels."""

    name: str
    labels: list[str]


class DomainDocument(Struct, frozen=True, kw_only=True):
    """The domain: the possible answers."""

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
        Meta(description="lists leave it out by default", extra_json_schema=LATER),
    ] = False
    mechanism: str
    epsilon: Annotated[str, Meta(description="ε of one whole report, exact: a decimal in a string")]
    repeat: str
    read: Literal["live", "closed", "releases"]
    requires: Annotated[
        list[str],
        Meta(description="extensions that every report must have", extra_json_schema=LATER),
    ] = field(default_factory=list)
    identified: Annotated[
        bool,
        Meta(
            description="reports identify their people: no anonymity is claimed",
            extra_json_schema=LATER,
        ),
    ] = False
    epoch_seconds: int
    valid_from: str
    expires: str
    domain: DomainDocument


class CollectionsDocument(Struct, frozen=True):
    """The listed collections."""

    collections: list[CollectionDocument]


class EpochDocument(Struct, frozen=True, kw_only=True):
    """One epoch; times are Unix seconds. `n` is missing if it may not be read or is deleted.

    `expired`: closed so long ago that its tallies are deleted (`retention_days`).
    `fewer_than`, if only releases may be read: it closed with fewer reports than this, perhaps
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
    """The epochs of a collection. No `rejections` if only releases may be read."""

    collection: Identifier
    epoch_seconds: int
    grace_seconds: int
    epochs: list[EpochDocument]
    rejections: dict[str, int] | UnsetType = UNSET


class AppliedDocument(Struct, frozen=True, kw_only=True):
    """The result of registering a manifest."""

    collection: Identifier
    name: str
    version: int
    created: bool


class ClosedDocument(Struct, frozen=True, kw_only=True):
    """A collection that accepts no more reports."""

    collection: Identifier
    state: Literal["closed"] = "closed"


class ArchivedDocument(Struct, frozen=True, kw_only=True):
    """Whether lists leave out a collection."""

    collection: Identifier
    archived: bool


class ClosedEpochDocument(Struct, frozen=True, kw_only=True):
    """An epoch that accepts no more reports; `changed`: this request closed it."""

    collection: Identifier
    epoch: int
    state: Literal["closed"] = "closed"
    changed: Annotated[bool, Meta(extra_json_schema=LATER)] = True


class RotatedDocument(Struct, frozen=True, kw_only=True):
    """The newest key of a suite; `active_from`: Unix seconds."""

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
    """The status in one word."""

    status: str


class ReadyDocument(Struct, frozen=True):
    """The status in one word, and the result of each check."""

    status: str
    checks: dict[str, str]


class ProblemDocument(Struct, frozen=True, kw_only=True):
    """A problem (RFC 9457): the fault, accepted and given values, and when to try again."""

    type: str
    title: str
    status: int
    detail: str
    retry: bool
    argument: str | UnsetType = UNSET
    accepted: str | UnsetType = UNSET
    given: str | UnsetType = UNSET


class NewNote(Arguments, frozen=True, kw_only=True):
    """A note on the time axis."""

    day: Annotated[
        str,
        Meta(
            pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2})?$",
            description="a day like 2026-11-22, or with a time like 2026-11-22 14:30 (UTC)",
        ),
    ]
    text: Annotated[str, Meta(min_length=1, max_length=80, description="1 to 80 characters")]


class NoteDocument(Struct, frozen=True, kw_only=True):
    """A note with its moment, text, author and creation. Times are Unix seconds."""

    id: str
    at: int
    text: str
    author: str
    created: int


class NotesDocument(Struct, frozen=True):
    """Every note of a collection, in order of time."""

    collection: Identifier
    notes: list[NoteDocument]
