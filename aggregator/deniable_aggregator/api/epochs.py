"""Epochs: list them, close one for good."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flask import Blueprint, Response
from msgspec import UNSET
from msgspec.structs import replace

from deniable_aggregator import retention
from deniable_aggregator.api.operations import operation
from deniable_aggregator.documents.collections import (
    ClosedEpochDocument,
    CloseEpochArguments,
    EpochDocument,
    EpochsDocument,
)
from deniable_aggregator.problem import Problem, refuse
from deniable_aggregator.queries.spans import epoch_index
from deniable_aggregator.registry import Collection
from deniable_aggregator.store.contract import EpochRow
from deniable_aggregator.store.spooled import counted_at
from deniable_aggregator.web.application import JSON, answer, service
from deniable_aggregator.web.formats import answered, tables
from deniable_aggregator.web.lists import EPOCH_COLUMNS, listed_epochs
from deniable_shared.epochs import closes_at, epoch_at, epoch_end, epoch_start
from deniable_shared.manifest import Manifest

blueprint = Blueprint("epochs", __name__)

MOST_LISTED = 1000
"""Most epochs listed where only releases may be read; the newest."""


@blueprint.get("/v1/collections/<collection>/epochs")
@operation(
    tag="analysts",
    role="viewer",
    answers=tables(EpochsDocument),
    problems=("unknown-collection", "not-acceptable"),
)
def epochs(collection: str) -> Response:
    """The epochs that have reports or are closed, and the reports that were rejected, by reason.

    Where only closed epochs may be read, those of the calendar that are open are listed without
    `n`, whether or not they have reports. Where only releases may be read, every epoch of the
    calendar is listed (the newest 1,000), without rejections. `n` is there for the closed epochs
    with at least `min_batch` reports; the other closed ones have `fewer_than` instead, with
    reports or without. Nothing here then depends on what anybody answered.

    CSV, Arrow and Parquet have a row an epoch, and no rejections.
    """
    found = service().registry.get(collection)
    releases_only = found.manifest.read == "releases"
    document = EpochsDocument(
        collection=found.id,
        epoch_seconds=found.manifest.epoch_seconds,
        grace_seconds=found.manifest.grace_seconds,
        epochs=_LISTED[found.manifest.read](found, service().store.epochs(found.id)),
        rejections=UNSET if releases_only else service().store.rejections(found.id),
    )
    return answered(document, lambda: listed_epochs(document.epochs), EPOCH_COLUMNS)


@blueprint.post("/v1/collections/<collection>/epochs/<epoch>/close")
@operation(
    act="epoch-closed",
    tag="admin",
    role="admin",
    query=CloseEpochArguments,
    answers={200: {JSON: (ClosedEpochDocument,)}},
    problems=("unknown-collection", "conflict", "unavailable"),
)
def close_epoch(collection: str, epoch: str, query: CloseEpochArguments) -> Response:
    """Close an epoch for good: counts are frozen, report ids deleted, later reports refused.

    Epochs close by themselves after their grace; `early=true` closes one that is still open. There
    is no way back. Closing a closed epoch changes nothing.
    """
    found = service().registry.get(collection)
    index = _started(found.manifest, epoch)
    if not query.early:
        _refuse_early(found.manifest, index)
    changed = service().close_epoch(found, index)
    return answer(ClosedEpochDocument(collection=found.id, epoch=index, changed=changed))


def _counted(collection: Collection, rows: list[EpochRow]) -> list[EpochDocument]:
    return [
        _epoch(
            collection.manifest,
            row.epoch,
            closed=row.closed_at is not None,
            expired=row.expired_at is not None,
            n=row.n,
        )
        for row in rows
    ]


def _closed_counted(collection: Collection, rows: list[EpochRow]) -> list[EpochDocument]:
    counted = _counted(collection, [row for row in rows if row.closed_at is not None])
    others = [listed for listed in _calendar(collection, rows) if listed.state == "open"]
    return sorted([*counted, *others], key=lambda listed: listed.epoch)


def _calendar(collection: Collection, rows: list[EpochRow]) -> list[EpochDocument]:
    manifest, now = collection.manifest, service().clock()
    counted = counted_at(now, service().store.spools())
    known = {row.epoch: row for row in rows}
    last = min(epoch_at(now, manifest.epoch_seconds), manifest.last_epoch)
    first = max(collection.first.first_epoch, last - MOST_LISTED + 1)
    return [
        _of_calendar(manifest, epoch, known.get(epoch), now=now, counted=counted)
        for epoch in range(first, last + 1)
    ]


def _of_calendar(
    manifest: Manifest, epoch: int, row: EpochRow | None, *, now: float, counted: float
) -> EpochDocument:
    """With `n` once it is closed; how far it is below `min_batch` does not show."""
    n = 0 if row is None else row.n
    over = counted > _closes(manifest, epoch)
    closed = over or (row is not None and row.closed_at is not None)
    expired = now > _closes(manifest, epoch) and retention.is_over(manifest, epoch, now)
    shown = _epoch(manifest, epoch, closed=closed, expired=expired)
    if not closed or expired:
        return shown
    enough = n >= manifest.min_batch
    return replace(shown, n=n) if enough else replace(shown, fewer_than=manifest.min_batch)


_LISTED: Mapping[str, Callable[[Collection, list[EpochRow]], list[EpochDocument]]] = {
    "live": _counted,
    "closed": _closed_counted,
    "releases": _calendar,
}


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


def _started(manifest: Manifest, text: str) -> int:
    index = epoch_index("epoch", text)
    current = epoch_at(service().clock(), manifest.epoch_seconds)
    if index > current:
        raise refuse("epoch", accepted=f"an epoch that has started: 0 to {current}", given=text)
    return index


def _refuse_early(manifest: Manifest, epoch: int) -> None:
    closes = _closes(manifest, epoch)
    if service().clock() <= closes and not service().store.is_closed(manifest.collection, epoch):
        raise Problem(
            "conflict",
            f"epoch {epoch} takes reports until {closes} (unix seconds); early=true closes it now, "
            "for good",
            closes=closes,
        )
