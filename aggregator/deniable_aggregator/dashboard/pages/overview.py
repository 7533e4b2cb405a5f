"""Overview: what is asked, what came in today, what needs somebody's eye.

Everybody may know what is asked, and at which ε: manifests are public. What came in is for viewers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from deniable_aggregator.access.guard import current_identity
from deniable_aggregator.dashboard import sparkline
from deniable_aggregator.dashboard.activity import Activity, activity, alerts
from deniable_aggregator.dashboard.addresses import here
from deniable_aggregator.dashboard.page import Context, Page
from deniable_aggregator.dashboard.paging import PageNumber, paged
from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.registry import Collection
from deniable_aggregator.web.application import service
from deniable_shared.dyadic import format_epsilon

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
    asked: str
    activity: Activity | None
    line: str


def view(query: OverviewArguments) -> Context:
    """The collections that the visitor may see; numbers for those who may read."""
    visitor = current_identity()
    reads = visitor is not None and visitor.may("viewer")
    known = service().registry.all()
    if visitor is not None:
        known = [found for found in known if visitor.may_see(found.id)]
    archived = sum(found.archived for found in known)
    known = [found for found in known if query.archived or not found.archived]
    now = service().clock()
    rows = [(found, _activity(found, now) if reads else None) for found in known]
    told = [alert for found, seen in rows if seen for alert in alerts(found, seen, now)]
    part = paged(_matching(rows, query.q), query.page, ROWS)
    return {
        "reads": reads,
        "trust": service().keys.trust,
        "collections": len(known),
        "archived": archived,
        "open": sum(found.state == "open" for found in known),
        "today": sum(seen.today or 0 for _, seen in rows if seen),
        "reports": sum(seen.reports or 0 for _, seen in rows if seen),
        "hidden": sum(seen.today is None for _, seen in rows if seen),
        "waiting": service().store.waiting().batches if reads else None,
        "late": max((seen.late_seconds for _, seen in rows if seen), default=0.0),
        "alerts": told[:MOST_ALERTS],
        "more_alerts": max(len(told) - MOST_ALERTS, 0),
        "query": query,
        "part": part,
        "rows": [_row(found, seen) for found, seen in part.items],
        "spark": sparkline,
        "address": here("dashboard.overview", query),
    }


def _activity(found: Collection, now: float) -> Activity:
    return activity(found, service().store.epochs(found.id), now)


def _matching(
    rows: Sequence[tuple[Collection, Activity | None]], text: str
) -> list[tuple[Collection, Activity | None]]:
    words = text.casefold().split()
    return [(found, seen) for found, seen in rows if all(word in _said(found) for word in words)]


def _said(found: Collection) -> str:
    newest = found.manifest
    return f"{found.id} {found.name} {newest.purpose} {newest.owner}".casefold()


def _row(found: Collection, seen: Activity | None) -> Row:
    return Row(
        collection=found,
        epsilon=format_epsilon(found.manifest.epsilon_report),
        asked=_asked(found),
        activity=seen,
        line=sparkline.points(seen.recent) if seen else "",
    )


def _asked(found: Collection) -> str:
    domain = found.manifest.domain
    document = domain.to_json()
    told = {
        "bits": f"{domain.size:,} yes or no",
        "choice": f"one of {domain.size:,}",
        "number": f"a number, {document.get('low')} to {document.get('high')}",
        "record": f"one of {domain.size:,} combinations",
        "text": f"a text of up to {document.get('max_bytes')} bytes",
    }
    return told[domain.type]


PAGE = Page(path="/", title="Overview", view=view, role=None, query=OverviewArguments, menu=10)
