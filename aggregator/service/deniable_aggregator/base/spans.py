"""What a span may say, and the seam through which the service makes spans.

A span is one of four acts: how it ended, of which collection, how many reports. Nothing else can
be said through here. `tracing/` sends spans to OpenTelemetry; without it NO_TRACER drops them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, Literal, Protocol

SpanName = Literal["upload", "commit", "estimate", "release"]

FAILED = "failed"
"""The outcome of a block that raised anything but a Problem."""


@dataclass(slots=True)
class Span:
    """`collection` is the id of a registered one, `reports` how many a commit held."""

    outcome: str = FAILED
    collection: str | None = None
    reports: int | None = None


class Tracer(Protocol):
    """Makes spans. Thread-safe."""

    def span(self, name: SpanName, /) -> AbstractContextManager[Span]:
        """A span of the block, which sets the outcome; a Problem's outcome is its slug."""
        ...

    def close(self) -> None:
        """Send what waits."""
        ...


class NoTracer:
    """Makes no spans: the block sets the fields of an object that is dropped."""

    def span(self, _name: SpanName, /) -> AbstractContextManager[Span]:
        """An empty context."""
        return nullcontext(Span())

    def close(self) -> None:
        """Nothing waits."""


NO_TRACER: Final = NoTracer()
