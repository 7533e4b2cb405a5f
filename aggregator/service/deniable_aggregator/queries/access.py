"""Who has access and by what, and what was done with it: tokens, users, sessions, the audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from deniable_aggregator.access.audit import parse
from deniable_aggregator.access.rows import AUDIT_PAGE, AuditRow
from deniable_aggregator.documents.access import (
    AuditDocument,
    AuditEntryDocument,
    SessionDocument,
    SessionsDocument,
    TokenDocument,
    TokensDocument,
    UserDocument,
    UsersDocument,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.access.sessions import SignInSessions
    from deniable_aggregator.access.tokens import Tokens
    from deniable_aggregator.access.users import Users
    from deniable_aggregator.store.protocols import Access, Audit


def tokens(kept: Tokens) -> TokensDocument:
    """Every token ever made, oldest first, without the tokens themselves."""
    return TokensDocument(msgspec.convert(kept.list(), list[TokenDocument], from_attributes=True))


def users(kept: Users) -> UsersDocument:
    """Every local user."""
    return UsersDocument(msgspec.convert(kept.list(), list[UserDocument], from_attributes=True))


def user(store: Access, name: str) -> UserDocument:
    """The local user of this name, of which there is one."""
    return msgspec.convert(store.find_user(name), UserDocument, from_attributes=True)


def sessions(kept: SignInSessions) -> SessionsDocument:
    """Every session that lasts, oldest first."""
    return SessionsDocument(
        msgspec.convert(kept.list(), list[SessionDocument], from_attributes=True)
    )


def audit(store: Audit, first: int, most: int = AUDIT_PAGE) -> AuditDocument:
    """The entries of the audit log from index `first` on, at most so many."""
    size, head = store.audit_head()
    # What was appended since is left to the next page: the head speaks of the first `size`.
    rows = store.audit(first)[: min(most, max(0, size - first))]
    return AuditDocument(size=size, head=head, entries=[_entry(row) for row in rows])


def audit_rows(store: Audit) -> Iterator[AuditRow]:
    """The whole audit log, read page by page."""
    first = 0
    while page := store.audit(first):
        yield from page
        first += len(page)
        if len(page) < AUDIT_PAGE:
            return


def _entry(row: AuditRow) -> AuditEntryDocument:
    entry = parse(row)
    return AuditEntryDocument(
        at=entry.at,
        act=entry.act,
        actor=entry.actor,
        details=dict(entry.details),
        entry=row.entry.decode(),
        head=row.head.hex(),
    )
