"""Flat rows of estimates by epoch, in order of time, in pages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypedDict

from msgspec import UNSET, UnsetType

from deniable_aggregator.documents.estimate_arguments import EstimatesArguments, SeriesArguments
from deniable_aggregator.documents.estimates import (
    EstimatesDocument,
    SeriesDocument,
    SeriesRow,
)
from deniable_aggregator.queries.epoch_ranges import moments_range
from deniable_aggregator.queries.estimates import plain_estimates
from deniable_aggregator.queries.pooled_tallies import MAX_ROWS, epoch_page
from deniable_gateway.problem import refuse
from deniable_shared.domains import Text
from deniable_shared.manifest.epochs import epoch_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.protocols import Reports

MOST_EPOCHS = 366
"""Most epochs of one page."""

MOST_ROWS = 20_000
"""Most rows of one page, unless one epoch has more."""

LISTED_LABELS = 8


def series(store: Reports, collection: Collection, question: SeriesArguments) -> SeriesDocument:
    """One page of rows. Raises read-refused and invalid-argument."""
    span = moments_range(question.first, question.last, collection.manifest.epoch_seconds)
    page = epoch_page(store, collection, span, _most_epochs(collection, question.labels))
    arguments = _estimates_arguments(collection, question)
    documents = [plain_estimates(collection, reports, arguments) for reports in page.tallies]
    _refuse_unknown(collection, question.labels, documents)
    return SeriesDocument(
        collection=collection.id,
        confidence=question.confidence,
        rows=[row for each in documents for row in _rows(collection, each, question.labels)],
        too_few_reports=list(page.too_few),
        next=page.following,
    )


def _most_epochs(collection: Collection, labels: Sequence[str]) -> int:
    size = collection.mechanism.tally_size
    return max(1, min(MOST_EPOCHS, MOST_ROWS // (len(labels) or size), MAX_ROWS // size))


def _estimates_arguments(collection: Collection, question: SeriesArguments) -> EstimatesArguments:
    candidates = question.labels if isinstance(collection.manifest.domain, Text) else []
    return EstimatesArguments(
        confidence=question.confidence, family=question.family, candidate=candidates
    )


def _refuse_unknown(
    collection: Collection, labels: Sequence[str], documents: Sequence[EstimatesDocument]
) -> None:
    """Raises invalid-argument for a label without rows in any epoch; any text has rows."""
    if not documents or isinstance(collection.manifest.domain, Text):
        return
    first = documents[0]
    names = [row.name for row in first.quantities] + [row.label for row in first.estimates]
    unknown = [label for label in labels if label not in names]
    if unknown:
        listed = ", ".join(names[:LISTED_LABELS])
        more = "" if len(names) <= LISTED_LABELS else f" and {len(names) - LISTED_LABELS} more"
        raise refuse("label", accepted=f"one of {listed}{more}", given=unknown[0])


class _EpochFields(TypedDict):
    """The fields that all rows of an epoch share."""

    time: str
    epoch: int
    n: int
    provisional: bool


def _rows(
    collection: Collection, document: EstimatesDocument, labels: Sequence[str]
) -> Iterator[SeriesRow]:
    (epoch,) = document.epochs
    begins = datetime.fromtimestamp(epoch_start(epoch, collection.manifest.epoch_seconds), UTC)
    common = _EpochFields(
        time=f"{begins:%Y-%m-%dT%H:%M:%SZ}",
        epoch=epoch,
        n=document.n,
        provisional=document.provisional,
    )
    for row in (*_quantity_rows(document, common), *_label_rows(document, common)):
        if not labels or row.label in labels:
            yield row


def _quantity_rows(document: EstimatesDocument, common: _EpochFields) -> Iterator[SeriesRow]:
    for each in document.quantities:
        yield SeriesRow(
            label=each.name,
            frequency=None,
            value=each.value,
            lower=each.lower,
            upper=each.upper,
            std_error=each.std_error,
            **common,
        )


def _label_rows(document: EstimatesDocument, common: _EpochFields) -> Iterator[SeriesRow]:
    value = UNSET if isinstance(document.clipped, UnsetType) else None  # only numbers have one
    for each in document.estimates:
        yield SeriesRow(
            label=each.label,
            frequency=each.frequency,
            value=value,
            lower=each.lower,
            upper=each.upper,
            std_error=each.std_error,
            **common,
        )
