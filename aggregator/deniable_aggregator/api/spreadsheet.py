"""Estimates as CSV (RFC 4180), one row a label, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from msgspec import UnsetType

from deniable_aggregator.api.documents import EstimatesByEpochDocument, EstimatesDocument

__all__ = ["Row", "csv_text", "epoch_rows", "label_rows"]

Row = dict[str, object]

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
_OF_A_LABEL = ("count", "frequency", "std_error", "lower", "upper")


def label_rows(document: EstimatesDocument) -> Iterator[Row]:
    """One row a label; each says how many reports it rests on and how sure its interval is."""
    for estimate in document.estimates:
        row: Row = {"label": inert(estimate.label)}
        row |= {name: getattr(estimate, name) for name in _OF_A_LABEL}
        if not isinstance(estimate.projected, UnsetType):
            row["projected"] = estimate.projected
        row["reports_to_leave_interval"] = estimate.reports_to_leave_interval
        row["devices_to_leave_interval"] = estimate.devices_to_leave_interval
        if not isinstance(estimate.reports, UnsetType):
            row["reports"] = estimate.reports
        row |= {"n": document.n, "confidence": document.confidence}
        yield row | {"provisional": str(document.provisional).lower()}


def epoch_rows(grouped: EstimatesByEpochDocument) -> Iterator[Row]:
    """The same, epoch by epoch, with the epoch in front."""
    for document in grouped.epochs:
        for row in label_rows(document):
            yield {"epoch": document.epochs[0], **row}


def inert(label: str) -> str:
    """A label no spreadsheet takes for a formula: a leading apostrophe says it is text."""
    starts = label.startswith(FORMULA_STARTS) or label.lstrip().startswith(FORMULA_STARTS)
    return f"'{label}" if starts else label


def csv_text(rows: Iterable[Row]) -> str:
    """Header and rows; what is unknown is empty."""
    text = io.StringIO()
    writer: csv.DictWriter[str] | None = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(text, fieldnames=list(row))
            writer.writeheader()
        writer.writerow(row)
    return text.getvalue()
