"""Flat rows by epoch, for programs that draw: Grafana, notebooks, spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec
from flask import Blueprint, Response
from msgspec import UnsetType

from deniable_aggregator.api.estimates import plain
from deniable_aggregator.api.operations import operation
from deniable_aggregator.documents.estimate_arguments import EstimatesArguments, SeriesArguments
from deniable_aggregator.documents.estimates import EstimatesDocument, SeriesDocument, SeriesRow
from deniable_aggregator.problem import refuse
from deniable_aggregator.queries.pooled import MAX_ROWS, page_of
from deniable_aggregator.queries.spans import moments_span
from deniable_aggregator.registry import Collection
from deniable_aggregator.web.application import service
from deniable_aggregator.web.formats import answered, linked, tables
from deniable_aggregator.web.spreadsheet import Row, label_rows
from deniable_shared.domain import Text
from deniable_shared.epochs import epoch_start

blueprint = Blueprint("series", __name__)

MOST_EPOCHS = 366
"""Of one page."""

MOST_ROWS = 20_000
"""Of one page, unless one epoch has more."""

LISTED_LABELS = 8
COLUMNS = (
    *("time", "epoch", "label", "frequency", "value", "lower", "upper", "std_error", "n"),
    "provisional",
)


@blueprint.get("/v1/collections/<collection>/series")
@operation(
    tag="analysts",
    role="viewer",
    query=SeriesArguments,
    answers=tables(SeriesDocument),
    problems=("unknown-collection", "read-refused", "not-acceptable"),
)
def series(collection: str, query: SeriesArguments) -> Response:
    """What `…/estimates?group_by=epoch` answers, as flat rows in the order of time.

    `label` picks labels, each time it is given: of texts it is a candidate, of numbers also mean
    or p50. `from` and `to` may be unix milliseconds, as Grafana writes them. A page has at most
    366 epochs and, of many labels, about 20,000 rows; `next`, and the header `Link`, lead on.

    Epochs are not to be averaged or added up: ask for estimates of the whole span.
    """
    found = service().registry.get(collection)
    span = moments_span(query.first, query.last, found.manifest.epoch_seconds)
    page = page_of(service().store, found, span, _most_epochs(found, query.labels))
    asked = _asked(found, query)
    documents = [plain(found, reading, asked) for reading in page.readings]
    _refuse_unknown(found, query.labels, documents)
    document = SeriesDocument(
        collection=found.id,
        confidence=query.confidence,
        rows=[row for each in documents for row in _rows(found, each, query.labels)],
        too_few_reports=list(page.too_few),
        next=page.following,
    )
    return linked(answered(document, lambda: map(_flat, document.rows), COLUMNS), page.following)


def _most_epochs(found: Collection, labels: Sequence[str]) -> int:
    size = found.mechanism.tally_size
    return max(1, min(MOST_EPOCHS, MOST_ROWS // (len(labels) or size), MAX_ROWS // size))


def _asked(found: Collection, query: SeriesArguments) -> EstimatesArguments:
    candidates = query.labels if isinstance(found.manifest.domain, Text) else []
    return EstimatesArguments(
        confidence=query.confidence, family=query.family, candidate=candidates
    )


def _refuse_unknown(
    found: Collection, labels: Sequence[str], documents: Sequence[EstimatesDocument]
) -> None:
    """What no epoch has a row of; a text that was not found has one."""
    if not documents or isinstance(found.manifest.domain, Text):
        return
    known = [str(row["label"]) for row in label_rows(documents[0])]
    unknown = [label for label in labels if label not in known]
    if unknown:
        listed = ", ".join(known[:LISTED_LABELS])
        more = "" if len(known) <= LISTED_LABELS else f" and {len(known) - LISTED_LABELS} more"
        raise refuse("label", accepted=f"one of {listed}{more}", given=unknown[0])


def _rows(
    found: Collection, document: EstimatesDocument, labels: Sequence[str]
) -> Iterator[SeriesRow]:
    (epoch,) = document.epochs
    begins = datetime.fromtimestamp(epoch_start(epoch, found.manifest.epoch_seconds), UTC)
    time = f"{begins:%Y-%m-%dT%H:%M:%SZ}"
    for row in label_rows(document):
        if not labels or row["label"] in labels:
            yield _row(row, time, epoch)


def _row(row: Row, time: str, epoch: int) -> SeriesRow:
    kept = {name: row[name] for name in SeriesRow.__struct_fields__ if name in row}
    return msgspec.convert(kept | {"time": time, "epoch": epoch}, SeriesRow)


def _flat(row: SeriesRow) -> Row:
    told = {name: getattr(row, name) for name in COLUMNS}
    return {name: None if isinstance(value, UnsetType) else value for name, value in told.items()}
