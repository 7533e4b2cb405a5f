"""The JSON documents of who may do what: tokens, users, sessions, one-time links, the audit log."""

from __future__ import annotations

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
    str, Meta(min_length=1, max_length=64, description="1 to 64 printable characters: whose it is")
]
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
    """Whom a voucher is for, and for which epoch: the present one when none is named."""

    person: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=256,
            description="1 to 256 bytes: the backend's own name for somebody",
        ),
    ]
    epoch: (
        Annotated[int, Meta(ge=0, le=4294967295, description="an epoch index (0 to 4294967295)")]
        | UnsetType
    ) = UNSET


class VoucherDocument(Struct, frozen=True, kw_only=True):
    """A voucher: 43 characters that the device seals into its report of this epoch."""

    collection: Identifier
    epoch: int
    voucher: str


class VoucherKeyArguments(Arguments, frozen=True):
    """The key of which epoch; of the present one when none is named."""

    epoch: (
        Annotated[int, Meta(ge=0, le=4294967295, description="an epoch index (0 to 4294967295)")]
        | UnsetType
    ) = UNSET


class VoucherKeyDocument(Struct, frozen=True, kw_only=True):
    """A key of a collection's vouchers: a secret of the operator's backend."""

    collection: Identifier
    key: str
    first: Annotated[
        int, Meta(description="the first epoch that it counts for; 0: it is the first")
    ]
    next: Annotated[
        int | None, Meta(description="the first epoch of the key after it; null: there is none")
    ]


class NewUser(Arguments, frozen=True, kw_only=True):
    """A person to let in with a password."""

    name: Named
    role: PersonRole
    password: Annotated[
        str, Meta(min_length=12, max_length=256, description="12 to 256 characters")
    ]
    collections: Scope = None


class NewLink(Arguments, frozen=True, kw_only=True):
    """A link that signs one person in, once."""

    name: Named = "one-time link"
    role: PersonRole = "admin"
    collections: Scope = None


class AuditArguments(Arguments, frozen=True):
    """Where the page begins."""

    first: Position = field(default=0, name="from")


class TokenDocument(Struct, frozen=True, kw_only=True):
    """A token, without the token. Times are unix seconds; no `collections` means all."""

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
    """A new token, shown this once."""

    id: str
    role: Role
    label: str
    collections: list[str] | None
    token: str
    expires: int | None


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
    """Somebody who is signed in, without the cookie."""

    id: str
    name: str
    role: PersonRole
    collections: list[str] | None
    via: Literal["password", "link", "oidc"]
    created: int
    expires: int


class SessionsDocument(Struct, frozen=True):
    """Everybody who is signed in."""

    sessions: list[SessionDocument]


class CreatedLinkDocument(Struct, frozen=True, kw_only=True):
    """A new one-time link, shown this once: its path, which stands behind the service's address."""

    path: str
    expires: int


class AuditEntryDocument(Struct, frozen=True, kw_only=True):
    """Who did what, when. `entry` is what was hashed, `head` the head after it, in hex."""

    at: int
    act: str
    actor: str
    details: dict[str, str]
    entry: str
    head: str


class AuditDocument(Struct, frozen=True, kw_only=True):
    """A page of the audit log."""

    size: Annotated[int, Meta(description="entries in the whole log")]
    head: Annotated[str, Meta(description="the head after the last of them")]
    entries: list[AuditEntryDocument]
