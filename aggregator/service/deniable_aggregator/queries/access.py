"""Documents about access: tokens, links, users, sessions and the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from deniable_aggregator.access.audit import ACTS, parse
from deniable_aggregator.access.rows import AUDIT_PAGE, AuditRow
from deniable_aggregator.documents.access import (
    AuditDocument,
    AuditEntryDocument,
    ReadLinkDocument,
    ReadLinksDocument,
    SessionDocument,
    SessionsDocument,
    TokenDocument,
    TokensDocument,
    UserDocument,
    UsersDocument,
)
from deniable_gateway.problem import refuse
from deniable_shared.manifest.epochs import day_start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.access.sessions import SignInSessions
    from deniable_aggregator.access.tokens import Tokens
    from deniable_aggregator.access.users import Users
    from deniable_aggregator.collections.registry import Registry
    from deniable_aggregator.documents.access import AuditFilterArguments
    from deniable_aggregator.store.protocols import Access, Audit

DAY_SECONDS = 86_400


def tokens(kept: Tokens) -> TokensDocument:
    """Every token ever made, oldest first, without the tokens themselves."""
    return TokensDocument(msgspec.convert(kept.list(), list[TokenDocument], from_attributes=True))


def read_links(kept: Tokens, collection: str) -> ReadLinksDocument:
    """Every read-only link to the collection of this id, oldest first, without the secrets."""
    links = kept.read_links(collection)
    return ReadLinksDocument(msgspec.convert(links, list[ReadLinkDocument], from_attributes=True))


def users(kept: Users) -> UsersDocument:
    """Every local user."""
    return UsersDocument(msgspec.convert(kept.list(), list[UserDocument], from_attributes=True))


def user(store: Access, name: str) -> UserDocument:
    """The local user of this name, who exists."""
    return msgspec.convert(store.find_user(name), UserDocument, from_attributes=True)


def sessions(kept: SignInSessions) -> SessionsDocument:
    """Every valid session, oldest first."""
    return SessionsDocument(
        msgspec.convert(kept.list(), list[SessionDocument], from_attributes=True)
    )


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """A filter of entries. An empty field fits every entry; times are Unix seconds.

    `collections` has the id and the name of one collection.
    """

    act: str = ""
    who: str = ""
    collections: frozenset[str] = frozenset()
    begins: float = -inf
    ends: float = inf

    def fits(self, entry: AuditEntry) -> bool:
        """Whether an entry is wanted."""
        return (
            self.act in ("", entry.act)
            and self.who.casefold() in entry.actor.casefold()
            and (not self.collections or entry.details.get("collection") in self.collections)
            and self.begins <= entry.at < self.ends
        )


EVERY_ENTRY = AuditFilter()


def audit_filter(question: AuditFilterArguments, registry: Registry) -> AuditFilter:
    """The filter of these arguments. Raises invalid-argument for an act that does not exist."""
    if question.act and question.act not in ACTS:
        raise refuse("act", accepted=f"one of {', '.join(ACTS)}", given=question.act)
    first, last = question.first_day, question.last_day
    return AuditFilter(
        act=question.act,
        who=question.who,
        collections=_names(question.collection, registry),
        begins=-inf if isinstance(first, UnsetType) else day_start(first),
        ends=inf if isinstance(last, UnsetType) else day_start(last) + DAY_SECONDS,
    )


def _names(name: str, registry: Registry) -> frozenset[str]:
    """Id and name of a collection: entries have what was given.

    The log may have the id of a collection that was deleted since.
    """
    collection = registry.lookup(name)
    names = {name} if collection is None else {name, collection.id, collection.name}
    return frozenset(names if name else ())


def matching_entries(
    store: Audit, wanted: AuditFilter, first: int = 0
) -> Iterator[AuditEntryDocument]:
    """The entries that fit, from index `first` on, oldest first."""
    for index, row in enumerate(audit_rows(store, first), first):
        if wanted.fits(parse(row)):
            yield _entry(row, index)


def chosen_entries(store: Audit, wanted: AuditFilter, first: int) -> AuditDocument:
    """A page of the entries that fit, from index `first` on, and where the next page begins."""
    size, head = store.audit_head()
    entries = list(islice(matching_entries(store, wanted, first), AUDIT_PAGE + 1))
    following = entries[AUDIT_PAGE].index if len(entries) > AUDIT_PAGE else None
    return AuditDocument(size=size, head=head, entries=entries[:AUDIT_PAGE], next=following)


def audit(
    store: Audit, first: int, most: int = AUDIT_PAGE, *, wanted: AuditFilter = EVERY_ENTRY
) -> AuditDocument:
    """The entries of the audit log from index `first` on, at most so many.

    With a filter each entry has its index, and the document says where the next page begins.
    """
    if wanted != EVERY_ENTRY:
        return chosen_entries(store, wanted, first)
    size, head = store.audit_head()
    # Newer entries are left to the next page: the head covers only the first `size`.
    rows = store.audit(first)[: min(most, max(0, size - first))]
    return AuditDocument(size=size, head=head, entries=[_entry(row) for row in rows])


def audit_rows(store: Audit, first: int = 0) -> Iterator[AuditRow]:
    """The audit log from index `first` on, read page by page."""
    while page := store.audit(first):
        yield from page
        first += len(page)
        if len(page) < AUDIT_PAGE:
            return


def _entry(row: AuditRow, index: int | UnsetType = UNSET) -> AuditEntryDocument:
    entry = parse(row)
    return AuditEntryDocument(
        at=entry.at,
        act=entry.act,
        actor=entry.actor,
        details=dict(entry.details),
        entry=row.entry.decode(),
        head=row.head.hex(),
        index=index,
    )
