"""What the page of a comparison draws: both periods on one scale, and their differences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
from deniable_aggregator.queries.estimates import estimates
from deniable_aggregator.web.application import service
from deniable_aggregator.web.dashboard.charts import Cell, Chart
from deniable_aggregator.web.dashboard.estimate_tables import quantity_name
from deniable_aggregator.web.dashboard.formatting import amount, digits_for, share

if TYPE_CHECKING:
    from msgspec import UnsetType

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.comparison import (
        ComparisonArguments,
        ComparisonDocument,
        DifferenceDocument,
    )

Level = Mapping[str, float | None]
"""An estimate of one period: value, lower and upper."""


def period_levels(
    collection: Collection, wanted: ComparisonArguments
) -> tuple[Mapping[str, Level], Mapping[str, Level]]:
    """The estimates of the period before and of the later one, by their labels."""
    before, after = (
        _levels(collection, wanted, first, last)
        for first, last in (
            (wanted.before_first, wanted.before_last),
            (wanted.first, wanted.last),
        )
    )
    return before, after


def _levels(
    collection: Collection,
    wanted: ComparisonArguments,
    first: str | UnsetType,
    last: str | UnsetType,
) -> Mapping[str, Level]:
    question = EstimatesArguments(
        first=first,
        last=last,
        confidence=wanted.confidence,
        family=wanted.family,
        marginal=wanted.marginal,
        candidate=wanted.candidate,
    )
    document = estimates(service().store, collection, question)
    if document.quantities:
        return {
            row.name: {"value": row.value, "lower": row.lower, "upper": row.upper}
            for row in document.quantities
        }
    return {
        row.label: {"value": row.frequency, "lower": row.lower, "upper": row.upper}
        for row in document.estimates
    }


def overlay_chart(
    document: ComparisonDocument,
    rows: Sequence[DifferenceDocument],
    levels: tuple[Mapping[str, Level], Mapping[str, Level]],
    *,
    files: Mapping[str, str],
) -> Chart:
    """Both periods on one scale: two bars a label, each with its interval."""
    shares = document.unit == "share"
    digits = digits_for((100 if shares else 1) * (row.upper - row.lower) for row in rows)

    def cells(level: Level) -> tuple[Cell, Cell]:
        value, lower, upper = (
            Cell(share(each, digits) if shares else amount(each, digits), each)
            for each in (level["value"], level["lower"], level["upper"])
        )
        return value, replace(lower, to=upper)

    kept = [row for row in rows if row.label in levels[0] and row.label in levels[1]]
    return Chart(
        name="levels",
        title="Before and after",
        summary=f"{len(kept)} answers before and after; the table has every number",
        kind="pairs",
        drawing={
            "rows": [
                {
                    "label": display_name(document, row.label),
                    "before": levels[0][row.label],
                    "after": levels[1][row.label],
                }
                for row in kept
            ]
        },
        columns=("Answer", "Before", "Interval before", "After", "Interval after"),
        rows=[
            (
                Cell(display_name(document, row.label)),
                *cells(levels[0][row.label]),
                *cells(levels[1][row.label]),
            )
            for row in kept
        ],
        unit="share" if shares else "",
        digits=digits,
        files=files,
        key=("Before", "After"),
    )


def people_needed(document: ComparisonDocument) -> tuple[DifferenceDocument, int] | None:
    """The largest difference that is no evidence yet, and how many reports a period would show it.

    The distance to the limit on the side of 0 falls with the root of the reports. None where all
    changed. Quantiles are left out: they and their limits move in whole steps.
    """
    open_rows = [
        row
        for row in document.differences
        if not row.changed and row.difference and (document.unit == "share" or row.label == "mean")
    ]
    if not open_rows or not (document.before.n and document.after.n):
        return None
    largest = max(open_rows, key=lambda row: abs(row.difference or 0.0))
    moved = largest.difference or 0.0
    reach, size = moved - largest.lower if moved > 0 else largest.upper - moved, abs(moved)
    reports = 2 / (1 / document.before.n + 1 / document.after.n)
    wanted = max(reports * (reach / size) ** 2, reports)
    step = 10 ** max(len(str(int(wanted))) - 2, 0)
    return largest, math.ceil(wanted / step) * step


def display_name(document: ComparisonDocument, label: str) -> str:
    """What a row is called: its label, or in words which quantity it is."""
    return label if document.unit == "share" else quantity_name(label)


def difference_chart(
    document: ComparisonDocument, rows: Sequence[DifferenceDocument], files: Mapping[str, str]
) -> Chart:
    """A bar a label, from 0: what became more to the right."""
    points = document.unit == "share"
    digits = digits_for((100 if points else 1) * (row.upper - row.lower) for row in rows)
    return Chart(
        name="differences",
        title="Change in percentage points" if points else "Change",
        summary=f"{document.changed} of {len(document.differences)} changed; the table has all",
        kind="bars",
        drawing={
            "signed": True,
            "rows": [
                {
                    "label": display_name(document, row.label),
                    "value": row.difference,
                    "lower": row.lower,
                    "upper": row.upper,
                    "sure": row.changed,
                }
                for row in rows
            ],
        },
        columns=(
            "Answer" if points else "Of all people",
            *("Before", "After", "Change", "Interval", "Verdict"),
        ),
        rows=[_cells(row, digits, points) for row in rows],
        unit="points" if points else "",
        digits=digits,
        files=files,
    )


def _cells(row: DifferenceDocument, digits: int, points: bool) -> tuple[Cell, ...]:
    def level(value: float | None) -> str:
        return share(value, digits) if points else amount(value, digits)

    def as_change(value: float | None) -> str:
        return signed_text(value, digits, points=points)

    return (
        Cell(row.label if points else quantity_name(row.label)),
        Cell(level(row.before), row.before),
        Cell(level(row.after), row.after),
        Cell(as_change(row.difference), row.difference),
        Cell(f"{as_change(row.lower)} to {as_change(row.upper)}"),
        Cell("changed" if row.changed else "no evidence"),
    )


def signed_text(value: float | None, digits: int = 1, *, points: bool = True) -> str:
    """+2.1 or −0.4, of shares in percentage points."""
    text = amount(None if value is None else 100 * value if points else value, digits)
    up = value is not None and value > 0 and any(digit in text for digit in "123456789")
    return f"+{text}" if up else text
