"""A store that counts what is counted: the part of it that uploads go through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from deniable_aggregator.store.protocols import Reports
from deniable_aggregator.store.rows import Arrival, Tally, Verdict

if TYPE_CHECKING:
    from deniable_aggregator.metrics.measures import Metrics

__all__ = ["MeteredStore"]

_ACCEPTED = (Verdict.COUNTED, Verdict.DUPLICATE)


class MeteredStore:
    """What an ingest needs of a store: `commit` and `count_rejections`, measured.

    A collection that has no manifest in the store never gets here, so none becomes a label.
    """

    def __init__(self, store: Reports, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics

    def commit(self, arrivals: Sequence[Arrival], tally: Tally) -> list[Verdict]:
        """As the store's; what is refused is told by `count_rejections`."""
        metrics = self._metrics
        metrics.commit_reports.observe(len(arrivals))
        with metrics.commit_seconds.time(), metrics.commit_failures.count_exceptions():
            verdicts = self._store.commit(arrivals, tally)
        collections = [arrival.cell.collection for arrival in arrivals]
        found = Counter(zip(collections, verdicts, strict=True))
        for (collection, verdict), n in found.items():
            if verdict in _ACCEPTED:
                metrics.reports.labels(collection, verdict.value).inc(n)
        return verdicts

    def count_rejections(self, collection: str, counts: Mapping[str, int]) -> None:
        """As the store's."""
        for reason, n in counts.items():
            self._metrics.reports.labels(collection, reason).inc(n)
        self._store.count_rejections(collection, counts)
