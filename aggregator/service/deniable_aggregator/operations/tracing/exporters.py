"""Chooses exporters of traces from OpenTelemetry's own variables.

OTEL_TRACES_EXPORTER     `otlp`, `console`, several with commas, or `none`
OTEL_EXPORTER_OTLP_…     an endpoint alone means `otlp`; also headers, timeout, certificates
OTEL_SDK_DISABLED        `true`: none, even if other variables request some

These variables are often set for a whole machine, not for this service. So a wrong value is logged
and the service runs without spans: tracing never stops uploads.
"""

from __future__ import annotations

import logging
import os
from importlib.metadata import version
from typing import TYPE_CHECKING

from deniable_aggregator.base.spans import NO_TRACER, Tracer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import SpanExporter

DISTRIBUTION = "deniable-aggregator"
KNOWN = ("otlp", "console")
PROTOCOL = "http/protobuf"

logger = logging.getLogger(__name__)


def tracer_from_environment() -> Tracer:
    """The tracer that the variables choose; NO_TRACER if they choose none or the extra is missing.

    Nothing of OpenTelemetry is imported unless they choose one.
    """
    names = chosen_exporters(os.environ)
    if not names:
        return NO_TRACER
    try:
        return _tracer(names)
    except ModuleNotFoundError as error:
        logger.warning(
            "OTEL_ variables request traces, but %s is not installed: none are sent. "
            'Install the extra: pip install "%s[otel]"',
            error.name,
            DISTRIBUTION,
        )
        return NO_TRACER


def chosen_exporters(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The exporters that are requested and available, each once."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ()
    requested = _requested(environ)
    for name in requested:
        if name not in (*KNOWN, "none"):
            logger.warning(
                "OTEL_TRACES_EXPORTER must be of %s, or none: ignored another value", KNOWN
            )
    protocol = _first(environ, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    names = [name for name in KNOWN if name in requested]
    if "otlp" in names and protocol not in ("", PROTOCOL):
        logger.warning("OTEL_EXPORTER_OTLP_PROTOCOL must be %s: no spans are sent", PROTOCOL)
        names.remove("otlp")
    return tuple(names)


def _requested(environ: Mapping[str, str]) -> list[str]:
    named = _first(environ, "OTEL_TRACES_EXPORTER")
    if named:
        return [name.strip().lower() for name in named.split(",")]
    endpoints = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    return ["otlp"] if _first(environ, *endpoints) else []


def _first(environ: Mapping[str, str], *names: str) -> str:
    """The first variable that is set and not empty."""
    return next((value for name in names if (value := environ.get(name, "").strip())), "")


def _tracer(names: tuple[str, ...]) -> Tracer:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from deniable_aggregator.operations.tracing.tracer import OpenTelemetryTracer

    exporters = [_exporter(name) for name in names]
    provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
    for exporter in exporters:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return OpenTelemetryTracer(provider)


def _exporter(name: str) -> SpanExporter:
    if name == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return ConsoleSpanExporter()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return OTLPSpanExporter()


def _resource() -> Resource:
    """Name and version; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override them."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    own = {"service.name": "deniable", "service.version": version(DISTRIBUTION)}
    return Resource.create(own).merge(OTELResourceDetector().detect())
