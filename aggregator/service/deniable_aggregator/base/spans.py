"""Spans of traces, and the protocol through which the service makes them.

A span has an outcome, a collection and a number of reports. This interface allows no other
content. `tracing/` sends spans to OpenTelemetry; without it NO_TRACER drops them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, Literal, Protocol

SpanName = Literal["upload", "commit", "estimate", "release"]

FAILED = "failed"
"""The outcome of a block that raised an exception other than Problem."""


@dataclass(slots=True)
class Span:
    """`collection` is the id of a registered collection, `reports` the size of a commit."""

    outcome: str = FAILED
    collection: str | None = None
    reports: int | None = None


class Tracer(Protocol):
    """Makes spans. Thread-safe."""

    def span(self, name: SpanName, /) -> AbstractContextManager[Span]:
        """A span around the block, which sets the outcome. A Problem's outcome is its slug."""
        ...

    def close(self) -> None:
        """Send the waiting spans."""
        ...


class NoTracer:
    """Makes no spans: it drops the object whose fields the block sets."""

    def span(self, _name: SpanName, /) -> AbstractContextManager[Span]:
        """A context that does nothing."""
        return nullcontext(Span())

    def close(self) -> None:
        """Does nothing."""


NO_TRACER: Final = NoTracer()
