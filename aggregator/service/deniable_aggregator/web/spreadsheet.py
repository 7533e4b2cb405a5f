"""Turns estimates into rows, and rows into CSV (RFC 4180) that is safe to open in a spreadsheet.

For numbers the rows of mean and quantiles come first. Their column `value`, in the units of the
domain, is empty in all other rows. Sets of labels come after the labels, named like "a + b";
ranges too, named like "10 to 20".
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from msgspec import UnsetType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deniable_aggregator.documents.estimates import (
        EstimatesByEpochDocument,
        EstimatesDocument,
        QuantityDocument,
    )

Row = dict[str, object]

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
_OF_A_LABEL = ("count", "frequency", "std_error", "lower", "upper")
_PROJECTED = ("projected", "projected_lower", "projected_upper")
_TRUST = ("reports_to_leave_interval", "devices_to_leave_interval")
_ON_REQUEST = ("significant", "lower_under_lies", "upper_under_lies", "liars_to_zero")


def label_rows(document: EstimatesDocument) -> Iterator[Row]:
    """One row for each label, with the number of reports and the confidence of its interval."""
    rests_on: Row = {
        "n": document.n,
        "confidence": document.confidence,
        "provisional": document.provisional,
    }
    numbers = not isinstance(document.clipped, UnsetType)
    projected = any(not isinstance(row.projected, UnsetType) for row in document.estimates)
    extra_columns = _requested_columns(document)
    for quantity in document.quantities:
        yield _quantity_row(quantity, projected=projected) | dict.fromkeys(extra_columns) | rests_on
    for estimate in document.estimates:
        row: Row = {"label": estimate.label}
        row |= {"value": None} if numbers else {}
        row |= {name: getattr(estimate, name) for name in _OF_A_LABEL}
        row |= {name: getattr(estimate, name) for name in _PROJECTED} if projected else {}
        row |= {name: getattr(estimate, name) for name in (*_TRUST, *extra_columns)}
        if not isinstance(estimate.reports, UnsetType):
            row["reports"] = estimate.reports
        row |= rests_on
        yield row
    yield from _set_rows(document, list(row), rests_on) if document.estimates else ()


def _requested_columns(document: EstimatesDocument) -> list[str]:
    """The further columns of the labels."""
    first = document.estimates[:1]
    return [
        name
        for name in _ON_REQUEST
        for row in first
        if not isinstance(getattr(row, name), UnsetType)
    ]


def _set_rows(document: EstimatesDocument, columns: Iterable[str], rests_on: Row) -> Iterator[Row]:
    for label_set in () if isinstance(document.sets, UnsetType) else document.sets:
        row: Row = dict.fromkeys(columns)
        row["label"] = " + ".join(label_set.labels)
        yield row | {name: getattr(label_set, name) for name in _OF_A_LABEL} | rests_on
    for span in () if isinstance(document.ranges, UnsetType) else document.ranges:
        row = dict.fromkeys(columns)
        row["label"] = f"{span.low} to {span.high}"
        yield row | {name: getattr(span, name) for name in _OF_A_LABEL} | rests_on


def _quantity_row(quantity: QuantityDocument, *, projected: bool) -> Row:
    row: Row = {"label": quantity.name, "value": quantity.value, "count": None, "frequency": None}
    row |= {name: getattr(quantity, name) for name in ("std_error", "lower", "upper")}
    row |= dict.fromkeys(_PROJECTED) if projected else {}
    return row | dict.fromkeys(_TRUST)


def epoch_rows(grouped: EstimatesByEpochDocument) -> Iterator[Row]:
    """The same, epoch by epoch: the epoch in front, its note at the end."""
    for document in grouped.epochs:
        note = None if isinstance(document.note, UnsetType) else document.note
        for row in label_rows(document):
            yield {"epoch": document.epochs[0], **row, "note": note}


def escape_formula(text: str) -> str:
    """A text that no spreadsheet takes for a formula, by a leading apostrophe if needed."""
    starts = text.startswith(FORMULA_STARTS) or text.lstrip().startswith(FORMULA_STARTS)
    return f"'{text}" if starts else text


def csv_text(rows: Iterable[Row], columns: Sequence[str] = ()) -> str:
    """Header and rows; an unknown value is empty. The first row gives the default `columns`."""
    text = io.StringIO()
    writer: csv.DictWriter[str] | None = _start_table(text, columns) if columns else None
    for row in rows:
        if writer is None:
            writer = _start_table(text, list(row))
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue()


def _start_table(text: io.StringIO, columns: Sequence[str]) -> csv.DictWriter[str]:
    writer = csv.DictWriter(text, fieldnames=columns)
    writer.writeheader()
    return writer


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return escape_formula(value) if isinstance(value, str) else value
