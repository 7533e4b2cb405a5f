"""Parts of the service that make spans. They are put in place of the plain ones when it starts.

Without tracing nothing of this is imported, and requests run through no line of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, cast

from deniable_aggregator.ingest.endpoint import UploadEndpoint
from deniable_aggregator.releases import Releases

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication, WSGIEnvironment

    from flask import Flask, Response

    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.api.operations import View
    from deniable_aggregator.documents.releases import QuoteDocument
    from deniable_aggregator.heads import Witness
    from deniable_aggregator.ingest import Counting
    from deniable_aggregator.ingest.request import Headers
    from deniable_aggregator.registry import Collection, Registry
    from deniable_aggregator.releases import Planner, Request, Shown
    from deniable_aggregator.releases.sessions import ReleaseStore
    from deniable_aggregator.service import Service
    from deniable_aggregator.store.rows import Arrival, Tally, Verdict
    from deniable_aggregator.tracing.tracer import Tracer
    from deniable_shared.epochs import Clock

__all__ = ["TracedReleases", "TracedStore", "TracedUploads", "trace_estimates"]

ESTIMATES = ("estimates.estimates", "series.series")


class TracedUploads(UploadEndpoint):
    """`accepted`, `turned-away` where one of the reports was, or the type of the problem."""

    def __init__(self, service: Service, application: WSGIApplication, tracer: Tracer) -> None:
        super().__init__(service, application)
        self._registry = service.registry
        self._tracer = tracer

    def _admitted(self, collection: str, environ: WSGIEnvironment) -> tuple[str, Headers, bytes]:
        with self._tracer.act("upload") as told:
            told.collection = _id_of(self._registry, collection)
            status, headers, errors = super()._admitted(collection, environ)
            told.outcome = "turned-away" if errors else "accepted"
            return status, headers, errors


class TracedStore:
    """What an ingest needs of a store; a commit is `durable` or `failed`.

    Its span lies in that of the upload whose thread commits for all that wait.
    """

    def __init__(self, store: Counting, tracer: Tracer) -> None:
        self._store = store
        self._tracer = tracer
        self.count_rejections: Callable[[str, Mapping[str, int]], None] = store.count_rejections

    def commit(self, arrivals: Sequence[Arrival], tally: Tally) -> list[Verdict]:
        """As the store's."""
        with self._tracer.act("commit") as told:
            told.reports = len(arrivals)
            verdicts = self._store.commit(arrivals, tally)
            told.outcome = "durable"
            return verdicts


class TracedReleases(Releases):
    """`made`, `repeated`, `priced`, or the type of the problem."""

    def __init__(
        self,
        store: ReleaseStore,
        *,
        clock: Clock,
        plan: Planner,
        heads: Witness,
        count: Callable[[str], None],
        tracer: Tracer,
    ) -> None:
        super().__init__(store, clock=clock, plan=plan, heads=heads, count=count)
        self._tracer = tracer

    def quote(self, collection: Collection, request: Request) -> QuoteDocument:
        """As without tracing."""
        with self._tracer.act("release") as told:
            told.collection = collection.id
            priced = super().quote(collection, request)
            told.outcome = "priced"
            return priced

    def release(
        self, collection: Collection, request: Request, *, audit: AuditEntry | None
    ) -> Shown:
        """As without tracing."""
        with self._tracer.act("release") as told:
            told.collection = collection.id
            shown = super().release(collection, request, audit=audit)
            told.outcome = "made" if shown.new else "repeated"
            return shown


def trace_estimates(app: Flask, registry: Registry, tracer: Tracer) -> None:
    """The API's estimates: `answered`, or the type of the problem, also of one with the token."""
    for endpoint in ESTIMATES:
        view = cast("View", app.view_functions[endpoint])
        app.view_functions[endpoint] = _traced(view, registry, tracer)


def _traced(view: View, registry: Registry, tracer: Tracer) -> View:
    @wraps(view)
    def traced(collection: str) -> Response:
        with tracer.act("estimate") as told:
            told.collection = _id_of(registry, collection)
            response = view(collection=collection)
            told.outcome = "answered"
            return response

    return traced


def _id_of(registry: Registry, id_or_name: str) -> str | None:
    """Of a registered collection; what a stranger made up is not repeated."""
    found = registry.known(id_or_name)
    return None if found is None else found.id
