"""Overview: what is asked, what came in today, what needs somebody's eye.

Everybody may know what is asked, and at which ε: manifests are public. What came in is for viewers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import current_identity
from deniable_aggregator.web.dashboard import svg
from deniable_aggregator.web.dashboard.activity import Activity, activity_of, alerts
from deniable_aggregator.web.dashboard.addresses import here
from deniable_aggregator.web.dashboard.page import Context, Page
from deniable_aggregator.web.dashboard.paging import PageNumber, paginate
from deniable_shared.randomness.dyadic import format_epsilon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection

ROWS = 50
MOST_ALERTS = 8


class OverviewArguments(Arguments, frozen=True):
    """What to list."""

    q: Annotated[str, Meta(max_length=200, description="up to 200 characters")] = ""
    page: PageNumber = 1
    archived: Annotated[bool, Meta(description="true or false")] = False


@dataclass(frozen=True, slots=True)
class Row:
    """One collection in the list."""

    collection: Collection
    epsilon: str
    answers: str
    activity: Activity | None
    line: str


def view(query: OverviewArguments) -> Context:
    """The collections that the visitor may see; numbers for those who may read."""
    visitor = current_identity()
    reads = visitor is not None and visitor.may("viewer")
    collections = service().registry.all()
    if visitor is not None:
        collections = [collection for collection in collections if visitor.may_see(collection.id)]
    archived = sum(collection.archived for collection in collections)
    collections = [
        collection for collection in collections if query.archived or not collection.archived
    ]
    now = service().clock()
    rows = [
        (collection, _activity(collection, now) if reads else None) for collection in collections
    ]
    alert_list = [
        alert for collection, counts in rows if counts for alert in alerts(collection, counts, now)
    ]
    part = paginate(_search(rows, query.q), query.page, ROWS)
    return {
        "reads": reads,
        "trust": service().keys.trust,
        "collections": len(collections),
        "archived": archived,
        "open": sum(collection.state == "open" for collection in collections),
        "today": sum(counts.today or 0 for _, counts in rows if counts),
        "reports": sum(counts.reports or 0 for _, counts in rows if counts),
        "hidden": sum(counts.today is None for _, counts in rows if counts),
        "waiting": service().store.rollup_backlog().batches if reads else None,
        "late": max((counts.late_seconds for _, counts in rows if counts), default=0.0),
        "alerts": alert_list[:MOST_ALERTS],
        "more_alerts": max(len(alert_list) - MOST_ALERTS, 0),
        "query": query,
        "part": part,
        "rows": [_row(collection, counts) for collection, counts in part.items],
        "svg": svg,
        "address": here("dashboard.overview", query),
    }


def _activity(collection: Collection, now: float) -> Activity:
    return activity_of(collection, service().store.epochs(collection.id), now)


def _search(
    rows: Sequence[tuple[Collection, Activity | None]], text: str
) -> list[tuple[Collection, Activity | None]]:
    words = text.casefold().split()
    return [
        (collection, counts)
        for collection, counts in rows
        if all(word in _search_text(collection) for word in words)
    ]


def _search_text(collection: Collection) -> str:
    newest = collection.manifest
    return f"{collection.id} {collection.name} {newest.purpose} {newest.owner}".casefold()


def _row(collection: Collection, counts: Activity | None) -> Row:
    return Row(
        collection=collection,
        epsilon=format_epsilon(collection.manifest.epsilon_report),
        answers=_answer_kind(collection),
        activity=counts,
        line=svg.spark_points(counts.recent) if counts else "",
    )


def _answer_kind(collection: Collection) -> str:
    domain = collection.manifest.domain
    document = domain.to_json()
    descriptions = {
        "bits": f"{domain.size:,} yes or no",
        "choice": f"one of {domain.size:,}",
        "number": f"a number, {document.get('low')} to {document.get('high')}",
        "record": f"one of {domain.size:,} combinations",
        "text": f"a text of up to {document.get('max_bytes')} bytes",
    }
    return descriptions[domain.type]


PAGE = Page(path="/", title="Overview", view=view, role=None, query=OverviewArguments, menu=10)
