"""Sessions of pages and one-time links: secrets go to the browser, their SHA-256 to the store.

Every request reads its session from the store, so an ended session stops at once in every process.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.access.audit import AuditEntry, with_details
from deniable_aggregator.access.rows import LinkRow, SessionRow
from deniable_aggregator.base.roles import Identity, scope_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_aggregator.access.rows import Token
    from deniable_shared.manifest.epochs import Clock

SESSION_SECONDS = 12 * 3_600
"""Seconds that a person stays signed in."""

LINK_SECONDS = 900
"""Seconds that a one-time link is valid."""

SECRET_CHARACTERS = 43

SHARED = "shared "
"""Prefix of `via` in sessions from a read-only link, followed by the link's id."""


class SessionStore(Protocol):
    """The part of a store that keeps sessions and links."""

    def add_session(self, row: SessionRow, *, audit: AuditEntry | None) -> bool:
        """Store a session; returns False and stores nothing if its origin has ended.

        The origin of a session is its user, if it began with a password, or its read-only link.
        """

    def sessions(self) -> Sequence[SessionRow]:
        """Every session, oldest first, including expired ones that are not yet deleted."""

    def find_session(self, session_hash: bytes) -> SessionRow | None:
        """The session with this cookie hash, or None."""

    def end_session(self, session_id: str, *, audit: AuditEntry | None) -> bool:
        """Delete a session; returns False if there is none of that id."""

    def add_link(self, row: LinkRow, *, audit: AuditEntry | None) -> None:
        """Keep one more."""

    def use_link(
        self, link_hash: bytes, session: SessionRow, *, now: float, audit: AuditEntry | None
    ) -> bool:
        """Delete a valid link and store the session that it begins, in one transaction.

        Returns False and stores nothing for a link that is unknown, used or expired. Of several
        concurrent calls only one succeeds.
        """

    def find_link(self, link_hash: bytes) -> LinkRow | None:
        """The link with this hash, or None."""


class SignInSessions:
    """Begins, recognizes, lists and ends sessions; makes the links that begin one."""

    def __init__(self, store: SessionStore, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def begin(
        self, name: str, role: str, collections: Iterable[str] | None, *, via: str
    ) -> str | None:
        """The cookie of a new session; None if the local user has just been removed."""
        now = self._clock()
        secret = secrets.token_urlsafe(32)
        row = self._row(secret, name, role, scope_of(collections), via)
        entry = AuditEntry.of("sign-in", actor=_actor(row), at=now, via=via, role=role)
        return secret if self._store.add_session(row, audit=entry) else None

    def begin_shared(self, token: Token) -> str | None:
        """The cookie of a session that ends with its read-only link; None if that has ended."""
        now, secret = self._clock(), secrets.token_urlsafe(32)
        row = self._row(secret, token.label, token.role, token.collections, shared_via(token.id))
        row = replace(row, expires=min(row.expires, token.expires or row.expires))
        entry = AuditEntry.of("sign-in", actor=_actor(row), at=now, via=row.via, role=row.role)
        return secret if self._store.add_session(row, audit=entry) else None

    def find(self, secret: str | None) -> tuple[SessionRow, Identity] | None:
        """The valid session of a cookie and its identity, or None."""
        if secret is None or not _is_secret(secret):
            return None
        row = self._store.find_session(_hash(secret))
        if row is None or self._clock() >= row.expires:
            return None
        return row, Identity(row.name, row.role, row.collections, f"session {row.id}")

    def list(self) -> list[SessionRow]:
        """The valid sessions, oldest first."""
        now = self._clock()
        return [row for row in self._store.sessions() if now < row.expires]

    def end(self, session_id: str, *, audit: AuditEntry | None) -> bool:
        """End a session at once; returns False if there is none of that id."""
        return self._store.end_session(session_id, audit=audit)

    def make_link(
        self,
        name: str,
        role: str = "admin",
        collections: Iterable[str] | None = None,
        *,
        audit: AuditEntry | None,
    ) -> str:
        """The secret of a new one-time link, valid for LINK_SECONDS."""
        secret = secrets.token_urlsafe(32)
        expires = int(self._clock()) + LINK_SECONDS
        row = LinkRow(_hash(secret), name, role, scope_of(collections), expires)
        audit = with_details(audit, name=name, role=role, collections=row.collections)
        self._store.add_link(row, audit=audit)
        return secret

    def holds(self, link: str) -> bool:
        """Whether a link is valid now."""
        row = self._store.find_link(_hash(link)) if _is_secret(link) else None
        return row is not None and self._clock() < row.expires

    def use_link(self, link: str) -> str | None:
        """The cookie of the session that the link begins; None if the link is not valid."""
        link_row = self._store.find_link(_hash(link)) if _is_secret(link) else None
        if link_row is None:
            return None
        now, secret = self._clock(), secrets.token_urlsafe(32)
        row = self._row(secret, link_row.name, link_row.role, link_row.collections, "link")
        entry = AuditEntry.of("sign-in", actor=_actor(row), at=now, via="link", role=row.role)
        used = self._store.use_link(link_row.hash, row, now=now, audit=entry)
        return secret if used else None

    def _row(
        self, secret: str, name: str, role: str, collections: tuple[str, ...] | None, via: str
    ) -> SessionRow:
        now = int(self._clock())
        return SessionRow(
            id=secrets.token_hex(6),
            hash=_hash(secret),
            name=name,
            role=role,
            collections=collections,
            via=via,
            created=now,
            expires=now + SESSION_SECONDS,
        )


def shared_via(link_id: str) -> str:
    """`via` of the sessions of a read-only link."""
    return SHARED + link_id


def _actor(row: SessionRow) -> str:
    return f"{row.name} (session {row.id})"


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _is_secret(text: str) -> bool:
    return len(text) == SECRET_CHARACTERS and text.isascii()
