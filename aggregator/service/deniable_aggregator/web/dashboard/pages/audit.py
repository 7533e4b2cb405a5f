"""Audit: who did what and when, newest first, and whether the chain is unbroken."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from deniable_aggregator.access.audit import continues, verify
from deniable_aggregator.documents.access import AuditEntryDocument, AuditFilterArguments
from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.operations.doctor.audit_view import noted_end, require_end
from deniable_aggregator.queries import access
from deniable_aggregator.queries.access import EVERY_ENTRY, AuditFilter
from deniable_aggregator.web.application import CSV, service
from deniable_aggregator.web.dashboard.addresses import as_attachment, here
from deniable_aggregator.web.dashboard.admin_forms import administrator
from deniable_aggregator.web.dashboard.audit_words import ACT_WORDS
from deniable_aggregator.web.dashboard.day_fields import DayText, day_error
from deniable_aggregator.web.dashboard.page import Context, Page
from deniable_aggregator.web.dashboard.paging import ListPage, PageNumber, paginate
from deniable_aggregator.web.formats import as_table
from deniable_aggregator.web.table_rows import AUDIT_COLUMNS, audit_rows
from deniable_shared.errors import ForkError

if TYPE_CHECKING:
    from flask import Response

ROWS = 50
_DAYS = ("first_day", "last_day")
_Numbered = list[tuple[int, AuditEntryDocument]]


class AuditPageArguments(Arguments, frozen=True):
    """Which entries, which part of them, and whether the chain is computed again."""

    act: Annotated[str, Meta(max_length=64, description="the name of an act")] = ""
    who: Annotated[str, Meta(max_length=200, description="up to 200 characters")] = ""
    collection: Annotated[str, Meta(max_length=64, description="up to 64 characters")] = ""
    first_day: DayText = ""
    last_day: DayText = ""
    page: PageNumber = 1
    verify: Annotated[Literal["yes", "no"], Meta(description="yes or no")] = "no"
    since: Annotated[str, Meta(max_length=100, description="SIZE:HEAD, noted before")] = ""
    format: Annotated[Literal["html", "csv"], Meta(description="html or csv")] = "html"


def view(query: AuditPageArguments) -> Context | Response:
    """The entries that are wanted; with `verify=yes` all of them are read and hashed."""
    administrator()
    wrong = {name: text for name in _DAYS if (text := day_error(getattr(query, name)))}
    wanted = EVERY_ENTRY if wrong else _wanted(query)
    if query.format == "csv" and not wrong:
        return _file(wanted)
    size, head = service().store.audit_head()
    part, entries = _entries(wanted, size, query.page)
    return {
        "query": query,
        "address": here("dashboard.audit", query),
        "act_words": ACT_WORDS,
        "questions": {each.id: each.name for each in service().registry.all()},
        "filtered": wanted != EVERY_ENTRY,
        "wrong": wrong,
        "size": size,
        "head": head,
        "part": part,
        "entries": entries,
        "status": 400 if wrong else 200,
        **(_verify_chain(query.since) if query.verify == "yes" else {}),
    }


def _wanted(query: AuditPageArguments) -> AuditFilter:
    """The same filter as the API's."""
    first, last = (_day(getattr(query, name)) for name in _DAYS)
    question = AuditFilterArguments(
        act=query.act, who=query.who, collection=query.collection, first_day=first, last_day=last
    )
    return access.audit_filter(question, service().registry)


def _day(text: str) -> date | UnsetType:
    return date.fromisoformat(text) if text else UNSET


def _file(wanted: AuditFilter) -> Response:
    """The rows that the API answers to the same question, all pages together."""
    rows = audit_rows(access.matching_entries(service().store, wanted))
    return as_attachment(as_table(CSV, rows, AUDIT_COLUMNS, {}), "audit.csv")


def _entries(wanted: AuditFilter, size: int, page: int) -> tuple[ListPage[int], _Numbered]:
    """Entries with their numbers, newest first. Without a filter it reads only those shown."""
    store = service().store
    if wanted != EVERY_ENTRY:
        every = {_index(each) + 1: each for each in access.matching_entries(store, wanted)}
        part = paginate(sorted(every, reverse=True), page, ROWS)
        return part, [(number, every[number]) for number in part.items]
    part = paginate(range(size, 0, -1), page, ROWS)
    first = part.items[-1] - 1 if part.items else 0
    entries = access.audit(store, first, len(part.items)).entries[::-1]
    return part, list(zip(part.items, entries, strict=False))


def _index(entry: AuditEntryDocument) -> int:
    return 0 if isinstance(entry.index, UnsetType) else entry.index


def _verify_chain(since: str) -> Context:
    last_end = noted_end(service().settings.data)  # before the rows: both only ever grow
    rows = list(access.audit_rows(service().store))
    try:
        size, head = verify(rows)
        require_end(rows, last_end)
        if since:
            continues(rows, since)
    except ForkError as error:
        return {"broken": str(error)}
    return {"unbroken": size, "unbroken_head": head.hex()}


PAGE = Page(
    path="/audit",
    title="Audit",
    view=view,
    role="admin",
    query=AuditPageArguments,
    menu=90,
    operates=True,
)
