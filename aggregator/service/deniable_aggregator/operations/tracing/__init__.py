"""Spans of uploads, commits, estimates and releases sent to OpenTelemetry; off by default.

exporters   the exporters that the standard variables choose
tracer      a `spans.Tracer` that makes OpenTelemetry's spans
"""

from __future__ import annotations
