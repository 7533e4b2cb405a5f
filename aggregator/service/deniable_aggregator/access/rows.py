"""What is kept of tokens, users, sessions, one-time links and the audit log.

Secrets come as hashes only.
"""

from __future__ import annotations

from dataclasses import dataclass

from deniable_aggregator.base.roles import PEOPLE, Identity, checked_name, checked_role

AUDIT_PAGE = 1_000
"""Most entries of the audit log in one page."""


@dataclass(frozen=True, slots=True)
class Token:
    """What the store knows of a token: everything but the token. Times are unix seconds.

    `collections` are the ids it is limited to, None for all.
    """

    id: str
    role: str
    label: str
    hash: bytes
    created: int
    expires: int | None = None
    revoked: int | None = None
    collections: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        checked_role(self.role)
        checked_name("label", self.label)

    @property
    def identity(self) -> Identity:
        """Whoever carries it."""
        return Identity(self.label, self.role, self.collections, f"token {self.id}")

    def valid(self, now: float) -> bool:
        """Neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)


@dataclass(frozen=True, slots=True)
class User:
    """A person with a password, of which only scrypt's output is kept."""

    name: str
    role: str
    collections: tuple[str, ...] | None
    password: str
    created: int

    def __post_init__(self) -> None:
        checked_role(self.role, PEOPLE)
        checked_name("name", self.name)


@dataclass(frozen=True, slots=True)
class SessionRow:
    """Somebody signed in; `hash` is the SHA-256 of the cookie. Times in unix seconds.

    `via` says how: "password", "link" or "oidc".
    """

    id: str
    hash: bytes
    name: str
    role: str
    collections: tuple[str, ...] | None
    via: str
    created: int
    expires: int

    def __post_init__(self) -> None:
        checked_role(self.role, PEOPLE)
        checked_name("name", self.name)


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link that signs one person in, once."""

    hash: bytes
    name: str
    role: str
    collections: tuple[str, ...] | None
    expires: int

    def __post_init__(self) -> None:
        checked_role(self.role, PEOPLE)
        checked_name("name", self.name)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One link of the chain: the entry as canonical JSON, and the head after it."""

    entry: bytes
    head: bytes
