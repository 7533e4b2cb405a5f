"""The log: everything the operator has signed or released, in one chain, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from flask import url_for
from msgspec import Meta

from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.operations.doctor import Check, log_audit
from deniable_aggregator.queries.transparency_log import EntrySummary, log_entries
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import current_identity
from deniable_aggregator.web.dashboard.addresses import here
from deniable_aggregator.web.dashboard.page import Context, Page
from deniable_aggregator.web.dashboard.paging import ListPage, PageNumber
from deniable_shared.errors import DeniableError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 25


class LogPageArguments(Arguments, frozen=True):
    """Which entries, the newest first, and whether to compute every hash again."""

    page: PageNumber = 1
    verify: Annotated[bool, Meta(description="true or false")] = False


@dataclass(frozen=True, slots=True)
class Row:
    """One entry; `index` counts from 0, as the API's does."""

    index: int
    type: str
    body_hash: str
    about: str
    href: str | None


def view(query: LogPageArguments) -> Context:
    """Entries with what they are about; verification reads, too, and changes nothing."""
    size, head = service().store.log_head()
    part = _log_rows(size, query.page)
    return {
        "size": size,
        "head": head,
        "trust": service().keys.trust,
        "public_url": service().settings.public_url,
        "part": part,
        "query": query,
        "checks": list(_verify_log()) if query.verify else None,
        "address": here("dashboard.log", query),
    }


def _log_rows(size: int, page: int) -> ListPage[Row]:
    pages = max(-(-size // ROWS), 1)
    page = min(page, pages)
    last = size - (page - 1) * ROWS
    first = max(last - ROWS, 0)
    visitor = current_identity()
    collections = [
        each for each in service().registry.all() if visitor and visitor.may_see(each.id)
    ]
    rows = [_row(entry) for entry in log_entries(service().store, collections, first, last - first)]
    return ListPage(rows[::-1], page, pages, (page - 1) * ROWS + 1, size)


def _row(entry: EntrySummary) -> Row:
    about, href = _entry_target(entry)
    return Row(entry.index, entry.type, entry.body_hash, about, href)


def _entry_target(entry: EntrySummary) -> tuple[str, str | None]:
    """In words, and the address where it is shown."""
    collection = entry.collection
    if collection is None:
        return "", None
    if entry.release is not None:
        href = url_for("dashboard.release", collection=collection.id, release_id=entry.release)
        return f"{collection.name}: release {entry.release}", href
    href = url_for("collections.manifest", collection=collection.id, version=entry.version)
    return f"{collection.versions[entry.version or 1].name}, version {entry.version}", href


def _verify_log() -> Iterator[Check]:
    """What `deniable doctor verify-log` says of this database, and whether its head is served."""
    settings = service().settings
    try:
        chain = log_audit.read_database(settings)
        yield Check("ok", "log", f"of the database: {chain.words}")
        yield from log_audit.of_database(settings, chain, service().keys.trust)
        size, head = service().store.log_head()
        own = chain.has_head(size, head) or size > len(chain.entries)
        yield Check(
            "ok" if own else "fail",
            "head",
            f"the one of {size:,} entries that is shown here is {'' if own else 'not '}its own",
        )
    except DeniableError as error:
        yield Check("fail", "log", str(error))


PAGE = Page(path="/log", title="Log", view=view, query=LogPageArguments, menu=60, operates=True)
