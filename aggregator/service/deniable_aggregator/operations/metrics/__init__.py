"""Metrics of the service, for Prometheus."""

from __future__ import annotations

from deniable_aggregator.operations.metrics.metrics import Metrics

__all__ = ["Metrics"]
