"""Stored rows of tokens, users, sessions, one-time links and the audit log.

They have only hashes of secrets.
"""

from __future__ import annotations

from dataclasses import dataclass

from deniable_aggregator.base.roles import PEOPLE, Identity, checked_name, checked_role

AUDIT_PAGE = 1_000
"""Most entries of the audit log in one page."""


@dataclass(frozen=True, slots=True)
class Token:
    """A stored token, without the token itself. Times are Unix seconds.

    `collections`: the ids that it is limited to, None for all.
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
        """The identity of requests with this token."""
        return Identity(self.label, self.role, self.collections, f"token {self.id}")

    @property
    def is_read_link(self) -> bool:
        """Whether it is a read-only link, which opens the pages of one collection."""
        one = self.collections is not None and len(self.collections) == 1
        return self.role == "viewer" and one and self.expires is not None

    def valid(self, now: float) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)


@dataclass(frozen=True, slots=True)
class User:
    """A person with a password, stored as a scrypt hash."""

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
    """A signed-in person; `hash` is the SHA-256 of the cookie. Times are Unix seconds.

    `via`: "password", "link", "oidc", or "shared" and the id of a read-only link.
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
    """A one-time sign-in link."""

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
    """One entry of the chain as canonical JSON, and the head after it."""

    entry: bytes
    head: bytes
