"""JSON documents of access: tokens, users, sessions, links and the audit log."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from deniable_aggregator.documents.fields import Arguments, Identifier

Role = Annotated[
    Literal["viewer", "analyst", "admin", "relay", "metrics"],
    Meta(description="viewer, analyst, admin, relay or metrics"),
]
PersonRole = Annotated[
    Literal["viewer", "analyst", "admin"], Meta(description="viewer, analyst or admin")
]
Named = Annotated[
    str, Meta(min_length=1, max_length=64, description="1 to 64 printable characters: its owner")
]
Password = Annotated[
    str,
    Meta(
        min_length=12,
        max_length=256,
        description="12 to 256 characters",
        extra_json_schema={"format": "password"},
    ),
]
"""Refusals never repeat a value of this format."""
Scope = (
    Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=64)]],
        Meta(
            min_length=1,
            max_length=100,
            description="1 to 100 ids or names of collections, or null for all",
        ),
    ]
    | None
)
Position = Annotated[
    int, Meta(ge=0, le=9007199254740991, description="the index of an entry, from 0 on")
]


class NewToken(Arguments, frozen=True, kw_only=True):
    """A token to make."""

    role: Role
    label: Named
    collections: Scope = None
    expires_days: (
        Annotated[int, Meta(ge=1, le=3650, description="whole days from 1 to 3650, or null")] | None
    ) = None


class NewVoucher(Arguments, frozen=True, kw_only=True):
    """The person and the epoch of a voucher; by default the present epoch."""

    person: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=256,
            description="1 to 256 bytes: the backend's own name for the person",
        ),
    ]
    epoch: (
        Annotated[int, Meta(ge=0, le=4294967295, description="an epoch index (0 to 4294967295)")]
        | UnsetType
    ) = UNSET


class VoucherDocument(Struct, frozen=True, kw_only=True):
    """A voucher: 43 characters that the device puts into its sealed report of this epoch."""

    collection: Identifier
    epoch: int
    voucher: str


class VoucherKeyArguments(Arguments, frozen=True):
    """The epoch of the key; by default the present one."""

    epoch: (
        Annotated[int, Meta(ge=0, le=4294967295, description="an epoch index (0 to 4294967295)")]
        | UnsetType
    ) = UNSET


class VoucherKeyDocument(Struct, frozen=True, kw_only=True):
    """A key of a collection's vouchers: a secret of the operator's backend."""

    collection: Identifier
    key: str
    first: Annotated[int, Meta(description="the first epoch of this key; 0: it is the first key")]
    next: Annotated[
        int | None, Meta(description="the first epoch of the next key; null: there is none")
    ]


class NewUser(Arguments, frozen=True, kw_only=True):
    """A person to add with a password."""

    name: Named
    role: PersonRole
    password: Password
    collections: Scope = None


class NewLink(Arguments, frozen=True, kw_only=True):
    """A one-time sign-in link to make."""

    name: Named = "one-time link"
    role: PersonRole = "admin"
    collections: Scope = None


class NewReadLink(Arguments, frozen=True, kw_only=True):
    """A read-only link to one collection."""

    label: Named
    expires_days: Annotated[int, Meta(ge=1, le=365, description="whole days from 1 to 365")] = 30


class AuditFilterArguments(Arguments, frozen=True):
    """A filter of the audit log: entries that fit all given arguments."""

    act: Annotated[str, Meta(max_length=64, description="the name of an act, like token-made")] = ""
    who: Annotated[
        str, Meta(max_length=200, description="a part of the name of who did it, in any case")
    ] = ""
    collection: Annotated[
        str, Meta(max_length=64, description="id or name of the collection that it was done to")
    ] = ""
    first_day: Annotated[date, Meta(description="a day like 2027-01-15, UTC")] | UnsetType = UNSET
    last_day: Annotated[date, Meta(description="a day like 2027-01-15, UTC")] | UnsetType = UNSET


class AuditArguments(AuditFilterArguments, frozen=True):
    """The first entry of the page, and which entries it has."""

    first: Position = field(default=0, name="from")


class TokenDocument(Struct, frozen=True, kw_only=True):
    """A token without its secret. Times are Unix seconds; no `collections` means all."""

    id: str
    role: Role
    label: str
    collections: list[str] | None
    created: int
    expires: int | None
    revoked: int | None


class TokensDocument(Struct, frozen=True):
    """Every token ever made."""

    tokens: list[TokenDocument]


class CreatedTokenDocument(Struct, frozen=True, kw_only=True):
    """A new token; only this document contains it."""

    id: str
    role: Role
    label: str
    collections: list[str] | None
    token: str
    expires: int | None


class ReadLinkDocument(Struct, frozen=True, kw_only=True):
    """A read-only link, without its secret. Times are unix seconds."""

    id: str
    label: str
    created: int
    expires: int
    revoked: int | None


class ReadLinksDocument(Struct, frozen=True):
    """Every read-only link to a collection, oldest first."""

    links: list[ReadLinkDocument]


class CreatedReadLinkDocument(Struct, frozen=True, kw_only=True):
    """A new read-only link: its path, which follows the service's address. Shown only once."""

    id: str
    label: str
    path: str
    expires: int


class UserDocument(Struct, frozen=True, kw_only=True):
    """A local user, without the password."""

    name: str
    role: PersonRole
    collections: list[str] | None
    created: int


class UsersDocument(Struct, frozen=True):
    """Every local user."""

    users: list[UserDocument]


class SessionDocument(Struct, frozen=True, kw_only=True):
    """A person who is signed in, without the cookie."""

    id: str
    name: str
    role: PersonRole
    collections: list[str] | None
    via: Annotated[
        str, Meta(description="password, link, oidc, or shared and the id of a read-only link")
    ]
    created: int
    expires: int


class SessionsDocument(Struct, frozen=True):
    """Everyone who is signed in."""

    sessions: list[SessionDocument]


class CreatedLinkDocument(Struct, frozen=True, kw_only=True):
    """A new one-time link: its path, which follows the service's address. Shown only once."""

    path: str
    expires: int


class AuditEntryDocument(Struct, frozen=True, kw_only=True):
    """A privileged action. `entry`: the hashed bytes; `head`: the head after it, in hex."""

    at: int
    act: str
    actor: str
    details: dict[str, str]
    entry: str
    head: str
    index: Annotated[int, Meta(description="where it is in the log, if entries were chosen")] | (
        UnsetType
    ) = UNSET


class AuditDocument(Struct, frozen=True, kw_only=True):
    """A page of the audit log."""

    size: Annotated[int, Meta(description="entries in the whole log")]
    head: Annotated[str, Meta(description="the head after the last of them")]
    entries: list[AuditEntryDocument]
    next: (
        Annotated[
            int | None, Meta(description="if entries were chosen: `from` of the next page, or null")
        ]
        | UnsetType
    ) = UNSET

    def following(self, first: int) -> int | None:
        """The first entry of the next page, if this one began at `first`; None after the last."""
        if not isinstance(self.next, UnsetType):
            return self.next
        after = first + len(self.entries)
        return after if self.entries and after < self.size else None
