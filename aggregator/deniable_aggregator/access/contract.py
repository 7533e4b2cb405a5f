"""What a store keeps of tokens, users, sessions, one-time links and the audit log.

Secrets come as hashes only. Every change here is one transaction; what `audit.acting` announces is
appended to the audit log in the transaction that does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from deniable_aggregator.access.roles import PEOPLE, checked_name, checked_role
from deniable_aggregator.access.tokens import Token

__all__ = ["AUDIT_PAGE", "AccessStore", "AuditRow", "LinkRow", "SessionRow", "User"]

AUDIT_PAGE = 1_000
"""Most entries of the audit log in one page."""


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


class AccessStore(Protocol):
    """Thread-safe. What writes is durable when it returns, or raises having changed nothing."""

    def add_token(self, token: Token) -> None: ...

    def tokens(self) -> list[Token]:
        """Every token ever made, oldest first."""
        ...

    def revoke_token(self, token_id: str, now: float) -> bool:
        """Invalid from now on; False if there is no such token. The first time stays."""
        ...

    def find_token(self, token_hash: bytes) -> Token | None: ...

    def add_user(self, user: User) -> bool:
        """False, and nothing kept, where somebody has the name."""
        ...

    def users(self) -> list[User]:
        """In the order they were added."""
        ...

    def find_user(self, name: str) -> User | None: ...

    def remove_user(self, name: str) -> bool:
        """With all sessions and links of that name; False where there was none of the three."""
        ...

    def add_session(self, row: SessionRow) -> bool:
        """Keep it. One that began with a password is kept only while the user is there."""
        ...

    def sessions(self) -> list[SessionRow]:
        """Oldest first, those over included until `forget_access`."""
        ...

    def find_session(self, session_hash: bytes) -> SessionRow | None: ...

    def end_session(self, session_id: str) -> bool:
        """False if there is no such session."""
        ...

    def add_link(self, row: LinkRow) -> None: ...

    def use_link(self, link_hash: bytes, session: SessionRow, *, now: float) -> bool:
        """Delete a link that still holds and keep the session it begins, in one transaction.

        False, and nothing kept, for a link that is unknown, used or over: of many at once one wins.
        """
        ...

    def find_link(self, link_hash: bytes) -> LinkRow | None: ...

    def forget_access(self, now: float) -> None:
        """Delete sessions and links that are over."""
        ...

    def record_act(self) -> None:
        """Append the entry of this act, if it is under way; it changes nothing else here."""
        ...

    def audit(self, first: int = 0) -> Sequence[AuditRow]:
        """Entries from index `first` on, at most AUDIT_PAGE."""
        ...

    def audit_head(self) -> tuple[int, str]:
        """Number of entries and the head in hex."""
        ...
