"""Epochs: list them, close one permanently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response

from deniable_aggregator.documents.collections import (
    ClosedEpochDocument,
    CloseEpochArguments,
    EpochsDocument,
)
from deniable_aggregator.queries import epochs as queries
from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import JSON, answer, service
from deniable_aggregator.web.formats import negotiated_answer, tables
from deniable_aggregator.web.table_rows import EPOCH_COLUMNS, epoch_list_rows

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry

blueprint = Blueprint("epochs", __name__)


@blueprint.get("/v1/collections/<collection>/epochs")
@operation(
    tag="analysts",
    role="viewer",
    answers=tables(EpochsDocument),
    problems=("unknown-collection", "not-acceptable"),
)
def epochs(collection: str) -> Response:
    """The epochs that have reports or are closed, and the reports that were rejected, by reason.

    If only closed epochs may be read, the open epochs of the calendar are listed without `n`,
    whether or not they have reports. If only releases may be read, every epoch of the calendar is
    listed (the newest 1,000), without rejections. Closed epochs with at least `min_batch` reports
    then have `n`; other closed ones have `fewer_than`, with reports or without. The list then does
    not depend on any person's answer.

    CSV, Arrow and Parquet have one row for each epoch, and no rejections.
    """
    target = service().registry.get(collection)
    document = queries.epochs(service().store, target, service().clock())
    return negotiated_answer(document, lambda: epoch_list_rows(document.epochs), EPOCH_COLUMNS)


@blueprint.post("/v1/collections/<collection>/epochs/<epoch>/close")
@operation(
    act="epoch-closed",
    tag="admin",
    role="admin",
    query=CloseEpochArguments,
    answers={200: {JSON: (ClosedEpochDocument,)}},
    problems=("unknown-collection", "conflict", "unavailable"),
)
def close_epoch(
    collection: str, epoch: str, query: CloseEpochArguments, audit: AuditEntry
) -> Response:
    """Close an epoch permanently: freeze its counts, delete report ids, refuse later reports.

    Epochs close automatically after their grace period; `early=true` closes one that is still
    open. This cannot be undone. Closing a closed epoch changes nothing.
    """
    target = service().registry.get(collection)
    store, now = service().store, service().clock()
    index = queries.closable_epoch(store, target, epoch, early=query.early, now=now)
    changed = service().close_epoch(target, index, audit=audit)
    return answer(ClosedEpochDocument(collection=target.id, epoch=index, changed=changed))
