"""Prints estimates as tables: frequency, interval as numbers and bar, and the truth if known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from msgspec import UNSET

from deniable_aggregator.cli.evidence_tables import (
    cells_of,
    columns_of,
    fabrication_table,
    sentences_of,
)
from deniable_aggregator.cli.interval_bars import NARROWEST, WIDEST, Scale, bar_room, scale_over
from deniable_aggregator.cli.output import (
    console,
    escape_control_characters,
    escape_markup,
    plain_table,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from deniable_aggregator.documents.estimates import (
        EstimatesByEpochDocument,
        EstimatesDocument,
        LabelEstimate,
    )
    from deniable_aggregator.operations.demo.run import CollectionResult

NUMBERS = frozenset({"truth", "estimate", "frequency", "projected", "± 1 se", "to leave"})


@dataclass(frozen=True, slots=True)
class BarRow:
    """One label's row: the cells left of its bar, the bar's numbers, the cells right of it."""

    left: tuple[str, ...]
    right: str
    lower: float | None
    upper: float | None
    frequency: float | None
    truth: float | None = None

    def bar(self, scale: Scale) -> str:
        """The bar; empty if there are no reports."""
        if self.lower is None or self.upper is None:
            return ""
        return scale.bar(self.lower, self.upper, self.frequency, self.truth)


def estimates_table(document: EstimatesDocument) -> None:
    """Print estimates: mean and quantiles if they are of numbers, then one row for each label."""
    quantities_table(document)
    if document.estimates:
        _labels_table(document)
        fabrication_table(document.estimates)
    elif document.evidence:
        console().print(escape_markup(f"{title_of(document)}: no text is clearly above zero yet"))
    for sentence in (
        *_hold_sentences(document),
        *_association_sentences(document),
        *sentences_of(document),
    ):
        console().print(sentence)


def estimates_by_epoch_table(document: EstimatesByEpochDocument) -> None:
    """Print each epoch by itself, and the epochs that have too few reports."""
    for epoch in document.epochs:
        click.echo(f"Epoch {', '.join(map(str, epoch.epochs))}")
        estimates_table(epoch)
    if document.too_few_reports:
        click.echo(f"Too few reports: {', '.join(map(str, document.too_few_reports))}")


def _labels_table(document: EstimatesDocument) -> None:
    rows = document.estimates
    columns = ["label", "frequency", "± 1 se", _interval_name(document.confidence)]
    projected = any(row.projected is not UNSET for row in rows)
    if projected:
        columns.insert(2, "projected")
    columns += columns_of(rows[0])
    lines = [_estimate_row(row, projected=projected) for row in rows]
    _print(title_of(document), columns, "to leave", lines)


def quantities_table(document: EstimatesDocument) -> None:
    """Print mean and quantiles of numbers, and the clipping range; nothing for other domains."""
    clipped = document.clipped
    if not clipped:
        return
    rows = document.quantities
    if rows:
        names = ["quantity", "value", "± 1 se", _interval_name(document.confidence)]
        cells = [
            [
                row.name,
                _plain(row.value),
                _plain(row.std_error),
                f"{_plain(row.lower)} to {_plain(row.upper)}",
            ]
            for row in rows
        ]
        numbers = frozenset({"value", "± 1 se"})
        plain_table(names, cells, title=title_of(document), numbers=numbers)
    step = f"rounded to steps of {clipped.step}"
    console().print(f"Clipped to {clipped.low} … {clipped.high}, {step}.")


def title_of(document: EstimatesDocument) -> str:
    """The collection, its mechanism and ε, and how many reports there are."""
    title = f"{document.collection}: {document.mechanism}, ε = {document.epsilon}"
    state = ", provisional: an epoch is open" if document.provisional else ""
    return f"{title}, n = {document.n:,}{state}"


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.5g}"


def truth_table(result: CollectionResult, confidence: float = 0.95) -> None:
    """Print estimates next to the truth, and whether each interval covers it, with a legend."""
    columns = ["label", "truth", "estimate", "± 1 se", _interval_name(confidence)]
    title = f"{result.collection}: {result.mechanism}, ε = {result.epsilon}, n = {result.n:,}"
    lines = [
        BarRow(
            left=(
                row.label,
                percent(row.truth),
                percent(row.frequency),
                _points(row.std_error),
                _interval(row.lower, row.upper),
            ),
            right="yes" if row.covers else "no",
            lower=row.lower,
            upper=row.upper,
            frequency=row.frequency,
            truth=row.truth,
        )
        for row in result.rows
    ]
    _print(title, columns, "covers", lines, legend=True)


def percent(value: float | None) -> str:
    """A frequency as a percentage with one decimal; a dash for None."""
    return "–" if value is None else f"{value * 100:.1f}%"


def _hold_sentences(document: EstimatesDocument) -> Iterator[str]:
    """Sentences on what permanent answers mean for a reader of these numbers."""
    if document.holds:
        starts = ", ".join(str(hold.first) for hold in document.holds)
        yield f"Values at the start of the holds from epoch {starts}; later values are not used."
    if document.holds and document.linkage is not UNSET:
        yield f"Two reports of one hold share {document.linkage:.2f} bits that link them."


def _association_sentences(document: EstimatesDocument) -> Iterator[str]:
    """Sentences on whether the attributes of each table of two are related."""
    for test in document.associations or []:
        pair = " and ".join(test.attributes)
        if test.p_value is None:
            yield escape_markup(f"Whether {pair} are related is not known: {test.undecided}.")
            continue
        yield escape_markup(
            f"If {pair} were independent, a difference as large as this would have probability "
            f"{test.p_value:.2g} (Wald statistic {test.statistic or 0:.1f}, "
            f"{test.degrees_of_freedom} degrees of freedom)."
        )


def _estimate_row(row: LabelEstimate, *, projected: bool) -> BarRow:
    leave = row.reports_to_leave_interval
    left = [
        escape_control_characters(row.label),
        percent(row.frequency),
        _points(row.std_error),
        _interval(row.lower, row.upper),
    ]
    if projected:
        left.insert(2, percent(None if row.projected is UNSET else row.projected))
    left += cells_of(row)
    right = "–" if leave is None else f"{leave:,.0f}"
    return BarRow(tuple(left), right, row.lower, row.upper, row.frequency)


def _print(
    title: str,
    columns: Sequence[str],
    last: str,
    lines: Sequence[BarRow],
    *,
    legend: bool = False,
) -> None:
    """Print the table, with a bar for each line if the screen has room for one."""
    screen = console()
    room = bar_room(screen, [(*columns, last), *((*line.left, line.right) for line in lines)])
    names, cells = [*columns, last], [[*line.left, line.right] for line in lines]
    if room >= NARROWEST:
        scale = _scale(screen, room, lines)
        names.insert(-1, scale.ends())
        cells = [[*line.left, line.bar(scale), line.right] for line in lines]
    plain_table(names, cells, title=title, numbers=NUMBERS, whole=frozenset(names) - {"label"})
    if legend and room >= NARROWEST:
        screen.print(scale.legend())


def _scale(screen: Console, room: int, lines: Sequence[BarRow]) -> Scale:
    """A scale as wide as the other columns leave room for."""
    values = (
        value
        for line in lines
        for value in (line.lower, line.upper, line.frequency, line.truth)
        if value is not None
    )
    return scale_over(
        values,
        width=min(room, WIDEST),
        ascii_only=not screen.encoding.lower().startswith("utf"),
    )


def _points(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:.1f}"


def _interval(lower: float | None, upper: float | None) -> str:
    return f"{_points(lower)} to {_points(upper)}%"


def _interval_name(confidence: float) -> str:
    return f"{confidence * 100:.4g}% interval"
