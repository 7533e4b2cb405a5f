"""Sends spans to OpenTelemetry, with the fields of `spans.Span` and nothing else.

A span has no event (which could contain an error's message), no link and no other attribute. Its
name is its act and outcome: "upload accepted", "release budget-exhausted". It does not show who
made the request: an incoming `traceparent` could identify a device, so it is ignored, and each span
begins its own trace.

The epoch is the only time of a report, so a trace begins at a full minute. Durations within a trace
are exact.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry.context import Context
from opentelemetry.trace import Span as OpenTelemetrySpan
from opentelemetry.trace import StatusCode, set_span_in_context

from deniable_aggregator.base.spans import FAILED, Span, SpanName
from deniable_gateway.problem import Problem
from deniable_shared.wire.problems import PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import TracerProvider

    from deniable_shared.manifest.epochs import Clock

OUTCOME, COLLECTION, REPORTS = "deniable.outcome", "deniable.collection", "deniable.reports"
"""Every attribute that a span may have."""

MINUTE = 60
SECOND = 1_000_000_000
CLOSE_SECONDS = 2.0
"""Seconds for the last spans, of the 15 s that a worker has after SIGTERM."""


@dataclass(frozen=True, slots=True)
class _ActiveSpan:
    span: OpenTelemetrySpan
    at: int
    started: int


_under_way: ContextVar[_ActiveSpan | None] = ContextVar("deniable_span", default=None)


class OpenTelemetryTracer:
    """Spans of one service. Thread-safe."""

    def __init__(
        self,
        provider: TracerProvider,
        *,
        clock: Clock = time.time,
        close_seconds: float = CLOSE_SECONDS,
    ) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("deniable_aggregator")
        self._clock = clock
        self._close_seconds = close_seconds

    @contextmanager
    def span(self, name: SpanName) -> Iterator[Span]:
        """See `spans.Tracer`; a nested block makes a child span."""
        span = Span()
        active = self._begin(name)
        token = _under_way.set(active)
        try:
            yield span
        except Problem as problem:
            span.outcome = problem.slug
            raise
        finally:
            _under_way.reset(token)
            _set_attributes(active.span, name, span)
            active.span.end(active.at + time.perf_counter_ns() - active.started)

    def close(self) -> None:
        """Send the waiting spans, without waiting for a collector that does not answer."""
        closing = threading.Thread(target=self._provider.shutdown, name="last-spans", daemon=True)
        closing.start()
        closing.join(self._close_seconds)

    def _begin(self, name: SpanName) -> _ActiveSpan:
        outer, started = _under_way.get(), time.perf_counter_ns()
        if outer is None:
            at, context = int(self._clock()) // MINUTE * MINUTE * SECOND, Context()
        else:
            at = outer.at + started - outer.started
            context = set_span_in_context(outer.span, Context())
        return _ActiveSpan(self._tracer.start_span(name, context, start_time=at), at, started)


def _set_attributes(otel_span: OpenTelemetrySpan, name: SpanName, span: Span) -> None:
    otel_span.update_name(f"{name} {span.outcome}")
    otel_span.set_attribute(OUTCOME, span.outcome)
    if span.collection is not None:
        otel_span.set_attribute(COLLECTION, span.collection)
    if span.reports is not None:
        otel_span.set_attribute(REPORTS, span.reports)
    if span.outcome == FAILED or _is_ours(span.outcome):
        otel_span.set_status(StatusCode.ERROR)


def _is_ours(outcome: str) -> bool:
    """Whether the service caused the problem, not the request."""
    return outcome in PROBLEMS and PROBLEMS[outcome].status >= 500
