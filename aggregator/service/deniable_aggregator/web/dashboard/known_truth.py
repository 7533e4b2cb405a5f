"""The truth on the charts of a demo, where it is known. Any other service has none to show."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

from deniable_aggregator.web.application import service
from deniable_aggregator.web.dashboard.charts import Cell, Chart, Table
from deniable_aggregator.web.dashboard.comparison_charts import display_name, signed_text
from deniable_aggregator.web.dashboard.formatting import amount, share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.comparison import ComparisonDocument
    from deniable_aggregator.documents.estimates import EstimatesDocument
    from deniable_aggregator.operations.demo_overlay import TrueAnswers
    from deniable_aggregator.queries.labels import LabelSeries

TITLE = "Truth"
NO_GROUPS: Mapping[str, Sequence[str]] = MappingProxyType({})
MARKED = "marked"
"""In a drawing: a tick is the truth."""


def mark_rows(
    chart: Chart,
    collection: Collection,
    epochs: Sequence[int],
    *,
    groups: Mapping[str, Sequence[str]] = NO_GROUPS,
) -> Chart:
    """A tick on each bar, and a column of the table. `groups`: bars of several labels together."""
    members = {label: groups.get(label, (label,)) for label in _labels(chart)}
    truth = _shares(collection, epochs, [*chain.from_iterable(members.values())])
    if not truth:
        return chart
    summed = {label: sum(truth[each] for each in group) for label, group in members.items()}
    return _with_ticks(chart, summed)


def mark_cells(
    chart: Chart, collection: Collection, epochs: Sequence[int], names: Sequence[str]
) -> Chart:
    """The same for the cells of a table of two attributes."""
    down, across = chart.drawing["down"], chart.drawing["across"]
    assert isinstance(down, list)  # noqa: S101  (a heat map has both)
    assert isinstance(across, list)  # noqa: S101  (a heat map has both)
    labels = [[f"{names[0]}={one}, {names[1]}={other}" for other in across] for one in down]
    truth = _shares(collection, epochs, [label for row in labels for label in row])
    if not truth:
        return chart
    rows = [
        (
            first,
            *(
                replace(cell, note=f"{cell.note} truth {share(truth[label], chart.digits)}".strip())
                for cell, label in zip(cells, row, strict=True)
            ),
        )
        for (first, *cells), row in zip(chart.rows, labels, strict=True)
    ]
    values = [[truth[label] for label in row] for row in labels]
    return replace(chart, rows=rows, drawing={**chart.drawing, "truth": values, MARKED: True})


def mark_lines(chart: Chart, collection: Collection, series: LabelSeries) -> Chart:
    """A tick on each line at each epoch."""
    truths = [_shares(collection, [epoch], list(series.lines)) for epoch in series.epochs]
    lines = chart.drawing["lines"]
    assert isinstance(lines, list)  # noqa: S101  (a chart of lines has them)
    if not any(truths):
        return chart
    marked = [
        {**line, "truth": [truth.get(label) for truth in truths]}
        for label, line in zip(series.lines, lines, strict=True)
    ]
    return replace(chart, drawing={**chart.drawing, "lines": marked, MARKED: True})


def mark_changes(chart: Chart, collection: Collection, document: ComparisonDocument) -> Chart:
    """The true change, after less before."""
    labels = [row.label for row in document.differences]
    before, after = (
        _shares(collection, period.epochs, labels) for period in (document.before, document.after)
    )
    both = before.keys() & after.keys()
    changes = {display_name(document, label): after[label] - before[label] for label in both}
    return _with_ticks(chart, changes)


def mark_quantities(
    table: Table | None, collection: Collection, document: EstimatesDocument
) -> Table | None:
    """A column of what the mean and the quantiles are, in as many decimals as their estimates."""
    truth = _shares(collection, document.epochs, [row.name for row in document.quantities])
    if table is None or not truth:
        return table

    def cell(name: str, estimate: Cell) -> Cell:
        digits = len(estimate.text.partition(".")[2])
        return Cell(amount(truth[name], digits), truth[name])

    rows = [
        (*cells, cell(row.name, cells[1]))
        for cells, row in zip(table.rows, document.quantities, strict=True)
    ]
    return replace(table, columns=(*table.columns, TITLE), rows=rows)


def _labels(chart: Chart) -> list[str]:
    rows = chart.drawing["rows"]
    assert isinstance(rows, list)  # noqa: S101  (bars and columns have them)
    return [row["label"] for row in rows]


def _with_ticks(chart: Chart, truth: Mapping[str, float]) -> Chart:
    drawn = chart.drawing["rows"]
    assert isinstance(drawn, list)  # noqa: S101  (bars and columns have them)
    if not truth:
        return chart

    def cell(label: str) -> Cell:
        value = truth.get(label)
        if chart.unit == "share":
            return Cell(share(value, chart.digits), value)
        signed = signed_text(value, chart.digits, points=chart.unit == "points")
        return Cell(signed, value)

    return replace(
        chart,
        drawing={
            **chart.drawing,
            MARKED: True,
            "rows": [{**row, "truth": truth.get(row["label"])} for row in drawn],
        },
        columns=(*chart.columns, TITLE),
        rows=[(*row, cell(row[0].text)) for row in chart.rows],
    )


def _shares(
    collection: Collection, epochs: Sequence[int], labels: Sequence[str]
) -> Mapping[str, float]:
    """What is true of the people who reported in these epochs; empty but in a demo."""
    answers = _true_answers(collection)
    if answers is None:
        return {}
    rows = service().store.epochs(collection.id)
    wanted = set(epochs)
    n = {row.epoch: row.n for row in rows if row.epoch in wanted}
    return {**answers.shares(n, labels), **answers.quantities(n, labels)}


def _true_answers(collection: Collection) -> TrueAnswers | None:
    demo = service().demo
    return None if demo is None else demo.questions.get(collection.id)
