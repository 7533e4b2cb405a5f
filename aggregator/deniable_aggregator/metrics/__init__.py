"""What the service counts and measures, for Prometheus."""

from __future__ import annotations

from deniable_aggregator.metrics.measures import Metrics
from deniable_aggregator.metrics.metered import MeteredStore

__all__ = ["MeteredStore", "Metrics"]
