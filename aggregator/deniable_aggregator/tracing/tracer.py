"""What a span may say: one of four acts, how it ended, of which collection, how many reports.

Nothing else can be said through here: no event (which would hold an error's words), no link, no
further attribute. A span is named by its act and outcome: "upload accepted", "release
budget-exhausted". Whose request it was does not enter: an incoming `traceparent` is not read, since
a device could carry one that names it, and spans begin traces of their own.

The epoch is the only time that a report has, so a trace begins at the full minute. Inside of it
durations and distances are exact.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, StatusCode, set_span_in_context

from deniable_aggregator.problem import Problem
from deniable_shared.epochs import Clock
from deniable_shared.problems import PROBLEMS

__all__ = ["ATTRIBUTES", "Act", "Told", "Tracer"]

Act = Literal["upload", "commit", "estimate", "release"]

OUTCOME, COLLECTION, REPORTS = "deniable.outcome", "deniable.collection", "deniable.reports"
ATTRIBUTES = frozenset({OUTCOME, COLLECTION, REPORTS})
"""Every attribute that a span may have."""

FAILED = "failed"
"""The outcome of what raised anything but a Problem."""

MINUTE = 60
SECOND = 1_000_000_000
CLOSE_SECONDS = 2.0
"""For the last spans, of the 15 s that a worker has after SIGTERM."""


@dataclass(slots=True)
class Told:
    """What is said when the act ends. `collection` is the id of a registered one, `reports` how
    many a commit held."""

    outcome: str = FAILED
    collection: str | None = None
    reports: int | None = None


@dataclass(frozen=True, slots=True)
class _UnderWay:
    span: Span
    at: int
    begun: int


_under_way: ContextVar[_UnderWay | None] = ContextVar("deniable_span", default=None)


class Tracer:
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
    def act(self, name: Act) -> Iterator[Told]:
        """A span of the block, which sets the outcome; a Problem's is its slug."""
        told = Told()
        here = self._begin(name)
        token = _under_way.set(here)
        try:
            yield told
        except Problem as problem:
            told.outcome = problem.slug
            raise
        finally:
            _under_way.reset(token)
            _say(here.span, name, told)
            here.span.end(here.at + time.perf_counter_ns() - here.begun)

    def close(self) -> None:
        """Send what waits; a collector that does not answer is not waited for."""
        closing = threading.Thread(target=self._provider.shutdown, name="last-spans", daemon=True)
        closing.start()
        closing.join(self._close_seconds)

    def _begin(self, name: Act) -> _UnderWay:
        outer, begun = _under_way.get(), time.perf_counter_ns()
        if outer is None:
            at, context = int(self._clock()) // MINUTE * MINUTE * SECOND, Context()
        else:
            at, context = outer.at + begun - outer.begun, set_span_in_context(outer.span, Context())
        return _UnderWay(self._tracer.start_span(name, context, start_time=at), at, begun)


def _say(span: Span, name: Act, told: Told) -> None:
    span.update_name(f"{name} {told.outcome}")
    span.set_attribute(OUTCOME, told.outcome)
    if told.collection is not None:
        span.set_attribute(COLLECTION, told.collection)
    if told.reports is not None:
        span.set_attribute(REPORTS, told.reports)
    if told.outcome == FAILED or _is_ours(told.outcome):
        span.set_status(StatusCode.ERROR)


def _is_ours(outcome: str) -> bool:
    """Whether it is a problem of the service and not of the request."""
    return outcome in PROBLEMS and PROBLEMS[outcome].status >= 500
