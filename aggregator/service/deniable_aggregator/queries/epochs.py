"""The epochs of a collection: states, counts, and the check that one may close."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from deniable_aggregator.collections import retention
from deniable_aggregator.documents.collections import EpochDocument, EpochsDocument
from deniable_aggregator.documents.describe import moment
from deniable_aggregator.queries.epoch_ranges import epoch_index
from deniable_aggregator.store.epoch_closing import counted_time
from deniable_gateway.problem import Problem, refuse
from deniable_shared.manifest.epochs import closes_at, epoch_at, epoch_end, epoch_start

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.protocols import Reports
    from deniable_aggregator.store.rows import EpochRow
    from deniable_shared.manifest.model import Manifest

MOST_LISTED = 1000
"""Most epochs that are listed, the newest ones, if only releases may be read."""


def epochs(store: Reports, collection: Collection, now: float) -> EpochsDocument:
    """The epochs that `read` allows to list, and rejected reports by reason.

    No rejections if only releases may be read. `now`: Unix seconds.
    """
    manifest = collection.manifest
    context = _EpochContext(
        collection, store.epochs(collection.id), now, counted_time(now, store.spool_progress())
    )
    releases_only = manifest.read == "releases"
    return EpochsDocument(
        collection=collection.id,
        epoch_seconds=manifest.epoch_seconds,
        grace_seconds=manifest.grace_seconds,
        epochs=_LISTED[manifest.read](context),
        rejections=UNSET if releases_only else store.rejections(collection.id),
    )


def closable_epoch(
    store: Reports, collection: Collection, text: str, *, early: bool, now: float
) -> int:
    """The epoch of this index, which has started.

    Raises Problem("conflict") if it still accepts reports, unless `early`.
    """
    manifest = collection.manifest
    epoch, current = epoch_index("epoch", text), epoch_at(now, manifest.epoch_seconds)
    if epoch > current:
        raise refuse("epoch", accepted=f"an epoch that has started: 0 to {current}", given=text)
    closes = _closes(manifest, epoch)
    if not early and now <= closes and not store.is_closed(collection.id, epoch):
        raise Problem(
            "conflict",
            f"epoch {epoch} takes reports until {moment(closes)}; early=true closes it now, "
            "permanently",
            closes=closes,
        )
    return epoch


@dataclass(frozen=True, slots=True)
class _EpochContext:
    """The state of the store, and the times that decide: epochs before `counted` are complete."""

    collection: Collection
    rows: Sequence[EpochRow]
    now: float
    counted: float


def _counted(context: _EpochContext) -> list[EpochDocument]:
    return [_of_row(context.collection.manifest, row) for row in context.rows]


def _closed_counted(context: _EpochContext) -> list[EpochDocument]:
    manifest = context.collection.manifest
    closed = [_of_row(manifest, row) for row in context.rows if row.closed_at is not None]
    others = [listed for listed in _calendar(context) if listed.state == "open"]
    return sorted([*closed, *others], key=lambda listed: listed.epoch)


def _calendar(context: _EpochContext) -> list[EpochDocument]:
    manifest = context.collection.manifest
    rows = {row.epoch: row for row in context.rows}
    last = min(epoch_at(context.now, manifest.epoch_seconds), manifest.last_epoch)
    first = max(context.collection.first.first_epoch, last - MOST_LISTED + 1)
    return [_of_calendar(context, epoch, rows.get(epoch)) for epoch in range(first, last + 1)]


def _of_calendar(context: _EpochContext, epoch: int, row: EpochRow | None) -> EpochDocument:
    """An epoch's document, with `n` after it closed; below `min_batch` without the number."""
    manifest, n = context.collection.manifest, 0 if row is None else row.n
    closes = _closes(manifest, epoch)
    closed = context.counted > closes or (row is not None and row.closed_at is not None)
    expired = context.now > closes and retention.is_over(manifest, epoch, context.now)
    document = _epoch(manifest, epoch, closed=closed, expired=expired)
    if not closed or expired:
        return document
    enough = n >= manifest.min_batch
    return replace(document, n=n) if enough else replace(document, fewer_than=manifest.min_batch)


_LISTED: Mapping[str, Callable[[_EpochContext], list[EpochDocument]]] = {
    "live": _counted,
    "closed": _closed_counted,
    "releases": _calendar,
}


def _of_row(manifest: Manifest, row: EpochRow) -> EpochDocument:
    return _epoch(
        manifest,
        row.epoch,
        closed=row.closed_at is not None,
        expired=row.expired_at is not None,
        n=row.n,
    )


def _epoch(
    manifest: Manifest, epoch: int, *, closed: bool, expired: bool, n: int | None = None
) -> EpochDocument:
    return EpochDocument(
        epoch=epoch,
        start=epoch_start(epoch, manifest.epoch_seconds),
        end=epoch_end(epoch, manifest.epoch_seconds),
        closes=_closes(manifest, epoch),
        state="closed" if closed else "open",
        expired=expired,
        n=UNSET if n is None or expired else n,
    )


def _closes(manifest: Manifest, epoch: int) -> int:
    return closes_at(epoch, manifest.epoch_seconds, manifest.grace_seconds)
