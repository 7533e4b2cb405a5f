"""Counters and histograms of one service, which add up over its worker processes.

Labels are closed sets: outcomes, statuses, the names of operations, ids of registered collections.
A label never contains text from a request. With PROMETHEUS_MULTIPROC_DIR, which `deniable serve`
sets for several workers, each process keeps its numbers in a file there, and any process reads all.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.registry import Collector

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_REPORTS = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)


class Metrics:
    """The metrics of one service. Thread-safe."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.reports = self._counter(
            "deniable_reports",
            "Reports by outcome.",
            ("collection", "outcome"),
        )
        self.uploads = self._counter(
            "deniable_uploads",
            "Upload requests by HTTP status.",
            ("status",),
        )
        self._uploads_of = cache(self.uploads.labels)  # finding a label costs more than counting
        self.upload_seconds = self._histogram(
            "deniable_upload_seconds", "Time an upload request took.", _SECONDS
        )
        self.requests = self._counter(
            "deniable_requests",
            "Other requests by operation and status.",
            ("operation", "status"),
        )
        self.commit_seconds = self._histogram(
            "deniable_commit_seconds",
            "Time a commit of reports took, failed ones included.",
            _SECONDS,
        )
        self.commit_reports = self._histogram(
            "deniable_commit_reports", "Reports in one commit.", _REPORTS
        )
        self.commit_failures = self._counter(
            "deniable_commit_failures", "Commits of reports that failed: their uploads got 503."
        )
        self.releases = self._counter(
            "deniable_releases", "Requests of central releases by outcome.", ("outcome",)
        )
        self.epochs_closed = self._counter(
            "deniable_epochs_closed", "Epochs that were closed.", ("collection",)
        )
        self.epoch_close_seconds = self._histogram(
            "deniable_epoch_close_seconds", "Time that closing one epoch took.", _SECONDS
        )
        self.housekeeping_failures = self._counter(
            "deniable_housekeeping_failures", "Maintenance runs that failed."
        )
        self.led_at = Gauge(
            "deniable_housekeeping_led_timestamp_seconds",
            "When a leading worker here last finished its maintenance; 0: never.",
            registry=self._registry,
            multiprocess_mode="max",
        )

    @contextmanager
    def commit(self, reports: int) -> Iterator[None]:
        """As `IngestMetrics`."""
        self.commit_reports.observe(reports)
        with self.commit_seconds.time(), self.commit_failures.count_exceptions():
            yield

    def count_reports(self, collection: str, outcome: str, reports: int) -> None:
        """As `IngestMetrics`."""
        self.reports.labels(collection, outcome).inc(reports)

    def count_upload(self, status: str, seconds: float) -> None:
        """As `IngestMetrics`."""
        self._uploads_of(status).inc()
        self.upload_seconds.observe(seconds)

    def count_request(self, operation: str | None, status: int) -> None:
        """As `IngestMetrics`."""
        self.requests.labels(operation or "none", str(status)).inc()

    def exposition(self, state: Collector) -> bytes:
        """The metrics of all processes and `state`, in Prometheus' text format."""
        return generate_latest(self._all()) + generate_latest(_only(state))

    def count_release(self, outcome: str) -> None:
        """Count one request of a release with this outcome."""
        self.releases.labels(outcome).inc()

    def reports_so_far(self) -> dict[tuple[str, str], float]:
        """(collection, outcome) → reports since the start, of all processes."""
        labels = self._totals("deniable_reports")
        return {(each["collection"], each["outcome"]): n for each, n in labels}

    def uploads_so_far(self) -> dict[str, float]:
        """Status → upload requests since the start, of all processes."""
        return {labels["status"]: n for labels, n in self._totals("deniable_uploads")}

    def _totals(self, name: str) -> list[tuple[dict[str, str], float]]:
        """The labels and the value of every sample of a counter."""
        return [
            (sample.labels, sample.value)
            for family in self._all().collect()
            if family.name == name
            for sample in family.samples
            if sample.name == f"{name}_total"
        ]

    def _all(self) -> CollectorRegistry:
        if DIRECTORY not in os.environ:
            return self._registry
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # prometheus_client has no type there
        return registry

    def _counter(self, name: str, help_text: str, labels: tuple[str, ...] = ()) -> Counter:
        return Counter(name, help_text, labels, registry=self._registry)

    def _histogram(self, name: str, help_text: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, help_text, buckets=buckets, registry=self._registry)


def _only(collector: Collector) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(collector)
    return registry
