"""A tracer that keeps its spans in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from deniable_aggregator.operations.tracing.tracer import OpenTelemetryTracer
from support.builders.data_directory import NOON

__all__ = ["Traced", "length"]


@dataclass
class Traced:
    """Everything that was exported, oldest first."""

    clock: Callable[[], float] = lambda: NOON + 34.56
    exporter: InMemorySpanExporter = field(default_factory=InMemorySpanExporter)

    def tracer(self) -> OpenTelemetryTracer:
        """The one that fills it."""
        provider = TracerProvider(resource=Resource({}), shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        return OpenTelemetryTracer(provider, clock=self.clock)

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    @property
    def names(self) -> list[str]:
        return [span.name for span in self.spans]

    def text(self) -> str:
        """All there is to export, as text."""
        return "\n".join(json.dumps(json.loads(span.to_json())) for span in self.spans)


def length(span: ReadableSpan) -> int:
    """In nanoseconds."""
    assert span.start_time is not None
    assert span.end_time is not None
    return span.end_time - span.start_time
