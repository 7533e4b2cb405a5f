"""The log: everything the operator has signed or released, in one chain, and whether it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from flask import url_for
from msgspec import Meta

from deniable_aggregator.access.guard import current_identity
from deniable_aggregator.dashboard.addresses import here
from deniable_aggregator.dashboard.page import Context, Page
from deniable_aggregator.dashboard.paging import PageNumber, Part
from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.inspection import log_audit
from deniable_aggregator.inspection.check import Check
from deniable_aggregator.web.application import service
from deniable_shared.errors import DeniableError
from deniable_shared.journal import LogEntry

ROWS = 25


class LogPageArguments(Arguments, frozen=True):
    """Which entries, the newest first, and whether to compute everything anew."""

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
    part = _part(size, query.page)
    return {
        "size": size,
        "head": head,
        "trust": service().keys.trust,
        "public_url": service().settings.public_url,
        "part": part,
        "query": query,
        "checks": list(_verified()) if query.verify else None,
        "address": here("dashboard.log", query),
    }


def _part(size: int, page: int) -> Part[Row]:
    pages = max(-(-size // ROWS), 1)
    page = min(page, pages)
    last = size - (page - 1) * ROWS
    first = max(last - ROWS, 0)
    entries = service().store.log(first)[: last - first]
    known = _known(releases=any(entry.type == "release" for entry in entries))
    rows = [_row(first + place, entry, known) for place, entry in enumerate(entries)]
    return Part(rows[::-1], page, pages, (page - 1) * ROWS + 1, size)


def _row(index: int, entry: LogEntry, known: dict[str, tuple[str, str]]) -> Row:
    name = f"{index}" if entry.type == "release" else entry.body_hash.hex()
    about, href = known.get(name, ("", None))
    return Row(index, entry.type, entry.body_hash.hex(), about, href)


def _known(*, releases: bool) -> dict[str, tuple[str, str]]:
    """Manifests by their digest, releases by their place: a salt hides what their hash is of."""
    visitor, found = current_identity(), {}
    for collection in service().registry.all():
        if visitor is None or not visitor.may_see(collection.id):
            continue
        for version, manifest in collection.versions.items():
            href = url_for("collections.manifest", collection=collection.id, version=version)
            found[manifest.digest.hex()] = (f"{manifest.name}, version {version}", href)
        for row in service().store.results(collection.id) if releases else ():
            href = url_for("dashboard.release", collection=collection.id, release_id=row.release)
            about = f"{collection.name}: release {row.release}"
            found[f"{(row.position or 1) - 1}"] = (about, href)
    return found


def _verified() -> Iterator[Check]:
    """What `deniable log verify` says of this database, and whether the service shows its head."""
    settings = service().settings
    try:
        chain = log_audit.read_database(settings)
        yield Check("ok", "log", f"of the database: {chain.words}")
        yield from log_audit.of_database(settings, chain, service().keys.trust)
        size, head = service().store.log_head()
        shown = chain.has_head(size, head) or size > len(chain.entries)
        yield Check(
            "ok" if shown else "fail",
            "head",
            f"the one of {size:,} entries that is shown here is {'' if shown else 'not '}its own",
        )
    except DeniableError as error:
        yield Check("fail", "log", str(error))


PAGE = Page(path="/log", title="Log", view=view, query=LogPageArguments, menu=40)
