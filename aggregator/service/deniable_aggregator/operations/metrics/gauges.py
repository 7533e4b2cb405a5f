"""The state of the service at the moment of a scrape, as gauges.

They describe the answering process; nothing is added up over processes. They do not read the
database, so a scrape also works while the database is down.

The maintenance updates `StoreHealth`: whether the store answers, and how far its roll-up is behind.
Counted reports have no time, so the lag is measured from outside: batches are numbered, and a batch
that was present at an earlier check has waited since that check.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector

from deniable_aggregator.operations import readiness

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prometheus_client import Metric

    from deniable_aggregator.collections.registry import Registry
    from deniable_aggregator.keys import Keys
    from deniable_aggregator.releases.rollback_guard import FileRollbackGuard
    from deniable_aggregator.store.protocols import Maintenance
    from deniable_gateway.upload.upload_queue import UploadQueue
    from deniable_shared.manifest.epochs import Clock


class StoreHealth:
    """Only one thread may call `check`; any thread may read."""

    def __init__(self, store: Maintenance, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._earlier: deque[tuple[float, int]] = deque()
        self.up = True
        self.batches = 0
        self.lag_seconds = 0.0

    def check(self) -> None:
        """Check the store. Exceptions of the store propagate."""
        self.up = False
        waiting = self._store.rollup_backlog()
        self.up = True
        now = self._clock()
        while self._earlier and (not waiting.batches or self._earlier[0][1] < waiting.oldest):
            self._earlier.popleft()
        self.batches = waiting.batches
        self.lag_seconds = max(0.0, now - self._earlier[0][0]) if self._earlier else 0.0
        if waiting.batches and (not self._earlier or waiting.newest > self._earlier[-1][1]):
            self._earlier.append((now, waiting.newest))


@dataclass(frozen=True, eq=False)
class ServiceGauges(Collector):
    """The parts of one service that the gauges read; `data` is its directory."""

    data: Path
    arrivals: UploadQueue
    store_health: StoreHealth
    guard: FileRollbackGuard
    keys: Keys
    registry: Registry
    clock: Clock

    def collect(self) -> Iterator[Metric]:
        """Every gauge."""
        yield InfoMetricFamily(
            "deniable_build",
            "The version of the running program.",
            {"version": version("deniable-aggregator")},
        )
        yield GaugeMetricFamily(
            "deniable_uploads_waiting",
            "Complete uploads that wait for earlier ones to be stored.",
            self.arrivals.waiting,
        )
        yield from self._store_gauges()
        yield from self._key_gauges()
        yield self._collection_gauge()
        yield GaugeMetricFamily(
            "deniable_disk_free_bytes",
            "Free space on the disk of the data directory.",
            readiness.free_bytes(self.data),
        )

    def _store_gauges(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "deniable_store_up",
            "Whether the database answered the last check.",
            int(self.store_health.up),
        )
        yield GaugeMetricFamily(
            "deniable_rollup_batches",
            "Batches that wait for the roll-up.",
            self.store_health.batches,
        )
        yield GaugeMetricFamily(
            "deniable_rollup_lag_seconds",
            "How long the oldest batch has waited for the roll-up, at the least.",
            self.store_health.lag_seconds,
        )
        yield GaugeMetricFamily(
            "deniable_ledger_behind",
            "Whether releases wait for `deniable ledger reconcile`.",
            int(self.guard.behind),
        )

    def _key_gauges(self) -> Iterator[Metric]:
        keys, now = self.keys, self.clock()
        ages = GaugeMetricFamily(
            "deniable_key_age_seconds",
            "How long the key for reports has been in use.",
            labels=["suite"],
        )
        for each in keys.listed_keys:
            if each.key.state == "active":
                ages.add_metric([str(each.key.suite)], max(0.0, now - each.since))
        yield ages
        yield GaugeMetricFamily(
            "deniable_key_list_expires_timestamp_seconds",
            "When devices begin to refuse the key list.",
            keys.listed_until,
        )
        yield GaugeMetricFamily(
            "deniable_delegation_expires_timestamp_seconds",
            "When the online key may no longer sign key lists.",
            keys.delegated_until,
        )

    def _collection_gauge(self) -> Metric:
        counts = Counter(each.state for each in self.registry.all())
        family = GaugeMetricFamily(
            "deniable_collections", "Registered collections.", labels=["state"]
        )
        for state in ("open", "closed"):
            family.add_metric([state], counts[state])
        return family
