"""Prints what estimates have besides frequencies: significance, fake reports, sets, warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from deniable_aggregator.cli.output import escape_markup, plain_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.documents.estimates import (
        AnonymityDocument,
        EstimatesDocument,
        LabelEstimate,
        RangeDocument,
        SetDocument,
    )

_WARNED = {
    "unused-code": "A code without a label was supported",
    "unused-codes": "The codes without a label were supported",
    "weight": "All labels together were supported",
}


def columns_of(row: LabelEstimate) -> list[str]:
    """Names of the further columns that this row has."""
    return [] if row.significant is UNSET else ["someone"]


def cells_of(row: LabelEstimate) -> list[str]:
    """The cells of the further columns."""
    return [] if row.significant is UNSET else ["yes" if row.significant else "no"]


def fabrication_table(rows: Sequence[LabelEstimate]) -> None:
    """Print the intervals that hold for any fake reports, if the request named a share of them."""
    if rows[0].liars_to_zero is UNSET:
        return
    cells = [
        (
            row.label,
            f"{_points(row.lower_under_lies)} to {_points(row.upper_under_lies)}%",
            f"{_points(row.liars_to_zero)}%",
        )
        for row in rows
    ]
    plain_table(("label", "interval under lies", "reaches 0 with liars of"), cells)


def sentences_of(document: EstimatesDocument) -> Iterator[str]:
    """The requested sets and ranges, how near a likelihood is, and warnings of fake reports."""
    for labels in document.sets or []:
        yield _share(" + ".join(labels.labels), labels)
    for span in document.ranges or []:
        yield _share(f"{span.low} to {span.high}", span)
    short = document.likelihood_short
    if short is not UNSET:
        yield f"The log-likelihood is within {short:.2g} of the most that any frequencies have."
    if document.shuffled:
        yield _anonymity(document.shuffled)
    for warning in document.warnings or []:
        seen = f"{warning.seen:,} times, but {warning.expected:,.0f} are expected"
        yield escape_markup(f"Warning: {_WARNED[warning.kind]} {seen}. {warning.meaning}")


def _anonymity(left: AnonymityDocument) -> str:
    return (
        f"Through the relay, in batches of {left.batch:,}: ε = {left.epsilon:.3g} at "
        f"δ = {left.delta:g} a report, if at most {left.liars:.0%} of a batch is fake; "
        f"ε = {left.epsilon_all:.3g} at δ = {left.delta_all:g} for all reports of one person "
        "(conditions: --json)."
    )


def _share(name: str, row: SetDocument | RangeDocument) -> str:
    ends = f"{_points(row.lower)} to {_points(row.upper)}%"
    return escape_markup(f"{name}: {_points(row.frequency)}% ± {_points(row.std_error)}, {ends}")


def _points(value: float | UnsetType | None) -> str:
    return "–" if value is None or isinstance(value, UnsetType) else f"{value * 100:.1f}"
