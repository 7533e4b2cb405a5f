"""The state of ingest by collection, as far as its `read` allows.

live        epochs, rates, rejections
closed      reports of closed epochs, and rejections, as in the API
releases    nothing that depends on a report
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import UnsetType

from deniable_aggregator.base.errors import DamagedError
from deniable_aggregator.queries.diagnostics import anomaly_warnings
from deniable_aggregator.queries.pooled_tallies import EpochRange, pooled_tally, readable_rows
from deniable_aggregator.store.rows import CommitStatus, EpochRow
from deniable_aggregator.web.dashboard.activity import LATE_SECONDS, Activity, activity_of
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimates import WarningDocument
    from deniable_aggregator.operations.metrics.rates import ReportOutcome
    from deniable_aggregator.store.protocols import Reports

NEWEST = 30
"""Epochs whose reports are looked at for what is odd."""

REASON_MEANINGS: Mapping[str, str] = {
    "cannot-open": "encrypted to another key, or damaged",
    "collection-expired": "arrived after the last day of the question",
    "epoch-closed": "arrived after their period had closed",
    "invalid-message": "not valid reports of this question",
    "manifest-unknown": "for a version that is not registered",
    "not-started": "arrived before the first day of the question",
    "outdated-key": "encrypted to a deleted key: devices encrypt them again",
    "token-invalid": "with a token that is not valid",
    "token-required": "without a token where one is needed",
    "too-early": "for a future period: a clock is ahead",
    "unknown-extension": "with an extension that this service does not know",
    "voucher-invalid": "with a voucher of another question, period or key",
    "voucher-required": "without a voucher where one is needed",
    "voucher-spent": "with a voucher that was already used",
}


@dataclass(frozen=True, slots=True)
class IngestHealth:
    """One collection; None for what its `read` keeps secret."""

    collection: Collection
    activity: Activity
    counted_per_minute: float | None
    rejected_per_minute: float | None
    rejections: Mapping[str, int] | None
    open_epochs: int | None

    @property
    def rejected(self) -> int | None:
        """Rejected so far, for any reason."""
        return None if self.rejections is None else sum(self.rejections.values())

    @property
    def late(self) -> bool:
        """Whether an epoch should have closed by now."""
        return self.activity.late_seconds > LATE_SECONDS


@dataclass(frozen=True, slots=True)
class CollectionAnomalies:
    """A collection whose reports honest devices would not have sent."""

    collection: Collection
    warnings: Sequence[WarningDocument]


def health_of(
    collection: Collection, store: Reports, rates: Mapping[ReportOutcome, float] | None, now: float
) -> IngestHealth:
    """Of one collection, at this moment."""
    rows = store.epochs(collection.id)
    live = collection.manifest.read == "live"
    visible_rates = rates if live else None
    return IngestHealth(
        collection=collection,
        activity=activity_of(collection, rows, now),
        counted_per_minute=_rate(collection, visible_rates, counted=True),
        rejected_per_minute=_rate(collection, visible_rates, counted=False),
        rejections=None
        if collection.manifest.read == "releases"
        else store.rejections(collection.id),
        open_epochs=sum(row.closed_at is None for row in rows) if live else None,
    )


def rejection_totals(rows: Iterable[IngestHealth]) -> list[tuple[str, int, str]]:
    """Reason, reports, and what it means: the most frequent first."""
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row.rejections or {})
    return [(reason, n, REASON_MEANINGS.get(reason, "")) for reason, n in total.most_common() if n]


def anomalies_of(collection: Collection, store: Reports) -> CollectionAnomalies | None:
    """What the newest epochs that may be read show of made-up reports."""
    try:
        rows = readable_rows(collection, store.epochs(collection.id))[-NEWEST:]
        if not rows:
            return None
        warnings = anomaly_warnings(collection, pooled_tally(store, collection, _span(rows)))
    except (Problem, DamagedError):  # too few, releases only, or damaged: nothing may be said
        return None
    return None if isinstance(warnings, UnsetType) else CollectionAnomalies(collection, warnings)


def _span(rows: Sequence[EpochRow]) -> EpochRange:
    return EpochRange(rows[0].epoch, rows[-1].epoch)


def _rate(
    collection: Collection, rates: Mapping[ReportOutcome, float] | None, *, counted: bool
) -> float | None:
    if rates is None:
        return None
    taken = {CommitStatus.COUNTED.value, CommitStatus.DUPLICATE.value}
    wanted = {CommitStatus.COUNTED.value} if counted else None
    return sum(
        rate
        for (collection_id, outcome), rate in rates.items()
        if collection_id == collection.id
        and (outcome in wanted if wanted is not None else outcome not in taken)
    )
