"""Estimates for the SQL views: for each closed epoch the API's answer without options.

The same code makes both. A view's rows are made again for a new version of the program or the
manifest, and are deleted together with the epoch's tallies.
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
"""Most labels of a collection in the views; use the API for larger ones."""

EPOCHS_AT_ONCE = 50
"""Epochs of one collection that are made in one run; after an upgrade the others follow."""


def publish(store: Reports, collection: Collection, epochs: Sequence[EpochRow]) -> None:
    """Update the views of this collection, which has these epochs."""
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
    """The view of one epoch; empty if analysts may read nothing, or if it has too many rows."""
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
