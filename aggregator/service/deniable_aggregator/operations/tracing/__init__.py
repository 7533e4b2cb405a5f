"""Spans of uploads, commits, estimates and releases sent to OpenTelemetry; off by default.

exporting   whether there is tracing, and where spans go: the standard variables
tracer      a `spans.Tracer` that makes OpenTelemetry's spans
"""

from __future__ import annotations
