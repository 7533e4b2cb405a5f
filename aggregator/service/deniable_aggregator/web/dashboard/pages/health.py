"""Ingest health: what comes in and how fast, what is rejected and why, what lags, what is odd.

The part that changes is loaded again every few seconds, except with `live=off`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from flask import request
from msgspec import Meta

from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.operations.metrics.rates import WINDOW_SECONDS
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import current_identity
from deniable_aggregator.web.dashboard.addresses import here
from deniable_aggregator.web.dashboard.health_charts import hours_chart, refused_requests
from deniable_aggregator.web.dashboard.ingest_health import (
    anomalies_of,
    health_of,
    rejection_totals,
)
from deniable_aggregator.web.dashboard.page import Context, Page
from deniable_aggregator.web.dashboard.paging import PageNumber, paginate

ROWS = 25
POLL_SECONDS = 5


class HealthArguments(Arguments, frozen=True):
    """Whether the page follows what happens."""

    live: Annotated[Literal["on", "off"], Meta(description="on or off")] = "on"
    page: PageNumber = 1


def view(query: HealthArguments) -> Context:
    """Every collection that the visitor may see, the busiest first."""
    visitor, now, store = current_identity(), service().clock(), service().store
    rates = service().rates.per_minute()
    collections = [
        collection
        for collection in service().registry.all()
        if visitor and visitor.may_see(collection.id)
    ]
    rows = [health_of(collection, store, rates, now) for collection in collections]
    rows.sort(key=lambda row: (not row.late, -(row.rejected_per_minute or 0.0)))
    part = paginate(rows, query.page, ROWS)
    again = "HX-Request" in request.headers
    history = service().rates.history()
    live = {row.collection.id for row in rows if row.collection.manifest.read == "live"}
    odd = [] if again else [anomalies_of(row.collection, store) for row in part.items]
    return {
        "query": query,
        "address": here("dashboard.health", query),
        "seconds": POLL_SECONDS,
        "minutes": int(WINDOW_SECONDS // 60),
        "measured": rates is not None,
        "part": part,
        "counted": sum(row.counted_per_minute or 0.0 for row in rows),
        "refused": sum(row.rejected_per_minute or 0.0 for row in rows),
        "hidden": sum(row.collection.manifest.read != "live" for row in rows),
        "open_epochs": sum(row.open_epochs or 0 for row in rows),
        "late": sum(row.late for row in rows),
        "batches": service().store_health.batches,
        "lag_seconds": service().store_health.lag_seconds,
        "reasons": rejection_totals(rows),
        "requests": refused_requests(history),
        "since": history[0].at if history else None,
        "hours": None if again else hours_chart(history, live),
        "checks": service().readiness.check(),
        "odd": [anomalies for anomalies in odd if anomalies is not None],
    }


PAGE = Page(
    path="/health", title="Health", view=view, query=HealthArguments, menu=50, operates=True
)
