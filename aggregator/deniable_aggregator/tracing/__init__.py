"""Spans of uploads, commits, estimates and releases, for OpenTelemetry; off unless told.

exporting   whether there is tracing, and where spans go: the standard variables
tracer      what a span may say, which is a closed list, and when it says it was
traced      the parts of the service that are put in place of the plain ones when it is on
"""

from __future__ import annotations
