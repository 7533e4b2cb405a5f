"""Estimates for the SQL views: of each closed epoch what the API answers when it is asked plainly.

The same code makes both. What is shown is made again when the program or the manifest has a new
version, and is gone as soon as the epoch's tallies are.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import DamagedError
from deniable_aggregator.queries.estimates import plain_estimates
from deniable_aggregator.queries.pooled_tallies import EpochRange, pooled_tally
from deniable_aggregator.store.rows import CollectionView, EpochRow, EpochView, EstimateView
from deniable_gateway.problem import Problem
from deniable_shared.domains import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.protocols import Reports

MOST_LABELS = 1_000
"""Of wider collections nothing is shown: ask the API."""

EPOCHS_AT_ONCE = 50
"""Epochs of one collection made in one round: after an upgrade the others wait a little."""


def publish(store: Reports, collection: Collection, epochs: Sequence[EpochRow]) -> None:
    """Bring up to date what is shown of this collection, whose epochs these are."""
    manifest = collection.manifest
    view = CollectionView(manifest.name, manifest.read, manifest.epoch_seconds)
    if store.collection_view(collection.id) != view:
        store.set_collection_view(collection.id, view)
    if isinstance(manifest.domain, Text):
        return
    maker, published = _version_tag(manifest.version), store.epoch_view_makers(collection.id)
    due = [row.epoch for row in epochs if row.closed_at is not None and row.expired_at is None]
    stale = [epoch for epoch in due if published.get(epoch) != maker]
    for epoch in stale[:EPOCHS_AT_ONCE]:
        store.set_epoch_view(collection.id, _epoch_view(store, collection, epoch, maker))


@cache
def _version_tag(manifest_version: int) -> str:
    return f"{version('deniable-aggregator')}/{manifest_version}"


def _epoch_view(store: Reports, collection: Collection, epoch: int, maker: str) -> EpochView:
    """Without rows where analysts may read none, or they are too many."""
    try:
        reports = pooled_tally(store, collection, EpochRange(epoch, epoch))
    except (Problem, DamagedError):
        return EpochView(epoch, maker)
    document = plain_estimates(collection, reports)
    rows = [
        EstimateView(row.label, row.frequency, row.std_error, row.lower, row.upper)
        for row in document.estimates
    ]
    if len(rows) > MOST_LABELS:
        return EpochView(epoch, maker)
    return EpochView(epoch, maker, document.n, document.confidence, tuple(rows))
