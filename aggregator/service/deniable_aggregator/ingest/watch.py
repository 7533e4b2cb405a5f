"""Observes each upload for operators: a span, its status and its duration."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from deniable_aggregator.base.spans import NO_TRACER, Span, Tracer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from deniable_aggregator.collections.registry import Registry
    from deniable_aggregator.ingest import IngestMetrics
    from deniable_gateway.upload.request import Reply


class IngestWatch:
    """The observer of one service."""

    def __init__(self, registry: Registry, metrics: IngestMetrics, tracer: Tracer) -> None:
        self._registry = registry
        self._metrics = metrics
        self._tracer = tracer

    @contextmanager
    def span(self, collection: str) -> Iterator[Span]:
        """A span that names only registered collections: a stranger may send any name."""
        with self._tracer.span("upload") as span:
            registered = self._registry.lookup(collection)
            span.collection = None if registered is None else registered.id
            yield span

    async def watch(self, collection: str, answering: Awaitable[Reply]) -> Reply:
        """See `deniable_gateway.upload.front.UploadWatch`."""
        if self._tracer is NO_TRACER:
            return await answering
        with self.span(collection) as span:
            reply = await answering
            span.outcome = outcome_of(reply[2])
            return reply

    def count_upload(self, status: int, seconds: float) -> None:
        """As `UploadWatch`."""
        self._metrics.count_upload(str(status), seconds)

    def count_refused_path(self, status: int) -> None:
        """As `UploadWatch`."""
        self._metrics.count_request(None, status)


def outcome_of(errors: bytes) -> str:
    """The outcome of an upload that was answered 200."""
    return "turned-away" if errors else "accepted"
