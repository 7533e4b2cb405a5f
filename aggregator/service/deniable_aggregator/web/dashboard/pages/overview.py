"""Questions: what is asked, what people answer, what came in today, what needs attention.

Manifests are public, so anyone may know what is asked, and at which ε. Answers are for viewers.
An administrator takes a question off the list, or puts it back.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from flask import Response, request

from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import current_identity, see_other, visible_collections
from deniable_aggregator.web.dashboard.activity import activity_of, alerts
from deniable_aggregator.web.dashboard.addresses import here
from deniable_aggregator.web.dashboard.admin_forms import Identifier, perform, read_form
from deniable_aggregator.web.dashboard.catalogue import (
    SORTS,
    STATES,
    CatalogueArguments,
    Entry,
    line_of,
    listed,
)
from deniable_aggregator.web.dashboard.page import Context, Page, Post
from deniable_aggregator.web.dashboard.paging import paginate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.web.dashboard.activity import Alert
    from deniable_aggregator.web.dashboard.admin_forms import Action

ROWS = 25
MOST_ALERTS = 8


def view(query: CatalogueArguments) -> Context:
    """The collections that the visitor may see; answers and numbers for those who may read."""
    visitor = current_identity()
    reads = visitor is not None and visitor.may("viewer")
    entries = [_entry(collection, reads=reads) for collection in visible_collections()]
    current = [entry for entry in entries if not entry.collection.archived]
    part = paginate(listed(entries, query), query.page, ROWS)
    return {
        "reads": reads,
        "operates": visitor is not None and visitor.may("admin") and visitor.collections is None,
        "trust": service().keys.trust,
        "questions": len(entries),
        "archived": len(entries) - len(current),
        "open": sum(entry.collection.state == "open" for entry in current),
        **(_reader_context(current) if reads else {}),
        "query": query,
        "states": STATES,
        "sorts": {key: name for key, name in SORTS.items() if reads or key != "reports"},
        "part": part,
        "lines": [line_of(entry) for entry in part.items],
        "address": here("dashboard.overview", query),
    }


def act() -> Response:
    """Archive a question, or put it back on the list: both can be undone."""
    perform(_ACTIONS)
    return see_other(request.full_path.rstrip("?"))


def _entry(collection: Collection, *, reads: bool) -> Entry:
    if not reads:
        return Entry(collection)
    epochs = service().store.epochs(collection.id)
    return Entry(collection, epochs, activity_of(collection, epochs, service().clock()))


def _reader_context(entries: Sequence[Entry]) -> Context:
    """What came in, and what needs attention."""
    counts = [entry.activity for entry in entries if entry.activity]
    alert_list = _alerts(entries)
    return {
        "today": sum(each.today or 0 for each in counts),
        "reports": sum(each.reports or 0 for each in counts),
        "hidden": sum(each.today is None for each in counts),
        "waiting": service().store.rollup_backlog().batches,
        "late": max((each.late_seconds for each in counts), default=0.0),
        "alerts": alert_list[:MOST_ALERTS],
        "more_alerts": max(len(alert_list) - MOST_ALERTS, 0),
    }


def _alerts(entries: Sequence[Entry]) -> list[Alert]:
    now = service().clock()
    return [
        alert
        for entry in entries
        if entry.activity
        for alert in alerts(entry.collection, entry.activity, now)
    ]


def _set_archived(audit: AuditEntry, *, archived: bool) -> Context:
    target = service().registry.get(read_form(Identifier).id)
    audit = audit.with_details(collection=target.id)
    service().registry.archive(target.id, archived=archived, audit=audit)
    return {}


_ACTIONS: Mapping[str, Action] = {
    "collection-archived": partial(_set_archived, archived=True),
    "collection-unarchived": partial(_set_archived, archived=False),
}

PAGE = Page(
    path="/",
    title="Questions",
    view=view,
    role=None,
    query=CatalogueArguments,
    menu=10,
    post=Post("admin", act),
)
