"""Charts of a document of estimates: bars, columns, a cross-tabulation, lines by epoch."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import UnsetType

from deniable_aggregator.documents.describe import when
from deniable_aggregator.web.dashboard.charts import Cell, Chart
from deniable_aggregator.web.dashboard.estimate_tables import (
    INTERVAL,
    NumberText,
    axis_of,
    interval_cells,
    people_cell,
    quantity_name,
)
from deniable_aggregator.web.dashboard.formatting import (
    amount,
    count,
    digits_for,
    plural,
    share,
)
from deniable_shared.manifest.epochs import epoch_at

if TYPE_CHECKING:
    from deniable_aggregator.documents.estimates import (
        EstimatesDocument,
        LabelEstimate,
    )
    from deniable_aggregator.queries.labels import LabelSeries
    from deniable_aggregator.store.rows import NoteRow
    from deniable_shared.domains import Record

Follow = Callable[[str], str | None]

RAW = ("Estimate", *INTERVAL, "People", "Fake reports that would move it")
LIARS = ("Interval with fake reports", "Fake reports until it reaches 0")
SHARE_AXIS = "Share of people"


def bar_chart(
    rows: Sequence[LabelEstimate],
    *,
    title: str,
    files: Mapping[str, str],
    follow: Follow,
    ordered: bool = False,
) -> Chart:
    """One bar a label, with its interval; around adjusted values that of `limits_around`."""
    digits = digits_for(map(_width, rows))
    projected = any(not isinstance(row.projected, UnsetType) for row in rows)
    drawn_rows = [
        {
            "label": row.label,
            "value": row.projected if projected else row.frequency,
            "lower": _limits(row)[0],
            "upper": _limits(row)[1],
            "sure": _sure(row),
        }
        for row in rows
    ]
    liars = any(not isinstance(row.liars_to_zero, UnsetType) for row in rows)
    columns = ("Answer", *(("Adjusted",) if projected else ()), *RAW, *(LIARS if liars else ()))
    return Chart(
        name="estimates",
        title=title,
        summary=_summary(title, rows, digits),
        kind="columns" if ordered else "bars",
        drawing={
            "rows": drawn_rows,
            **({"names": ["Answer", SHARE_AXIS]} if ordered else {}),
        },
        columns=columns,
        rows=[_cells(row, digits, projected, follow) for row in rows],
        axis=axis_of(rows),
        digits=digits,
        files=files,
    )


def cross_table(
    document: EstimatesDocument,
    domain: Record,
    names: Sequence[str],
    *,
    title: str,
    files: Mapping[str, str],
    name: str = "estimates",
) -> Chart:
    """Two attributes against each other, cell by cell."""
    down, across = (_attribute(domain, name) for name in names)
    rows = [
        list(document.estimates[start : start + len(across)])
        for start in range(0, len(document.estimates), len(across))
    ]
    digits = digits_for(map(_width, document.estimates))
    projected = any(not isinstance(cell.projected, UnsetType) for row in rows for cell in row)
    most = max((_value(cell, projected) or 0.0 for cell in document.estimates), default=0.0)
    return Chart(
        name=name,
        title=title,
        summary=_summary(title, document.estimates, digits),
        kind="heat",
        drawing={
            "down": down,
            "across": across,
            "values": [[_value(cell, projected) for cell in row] for row in rows],
            "lower": [[_limits(cell)[0] for cell in row] for row in rows],
            "upper": [[_limits(cell)[1] for cell in row] for row in rows],
        },
        columns=(names[0], *across),
        rows=[
            (Cell(label), *(_cell(cell, digits, projected, most) for cell in row))
            for label, row in zip(down, rows, strict=True)
        ],
        digits=digits,
        files=files,
    )


def line_chart(
    series: LabelSeries,
    *,
    title: str,
    epoch_start: Callable[[int], float],
    files: Mapping[str, str],
    period: str = "period",
    unit: str = "share",
) -> Chart:
    """A line a label over the epochs, with the interval of each epoch as a band.

    An epoch that is open is dotted: more reports of it may come.
    """
    ticks = [when(epoch_start(epoch)) for epoch in series.epochs]
    names = list(series.lines) if unit == "share" else list(map(quantity_name, series.lines))
    moments = [moment for line in series.lines.values() for moment in line]
    scale = 100 if unit == "share" else 1
    digits = digits_for(
        scale * (moment.upper - moment.lower)
        for moment in moments
        if moment.upper is not None and moment.lower is not None
    )

    def as_text(number: float | None) -> str:
        return share(number, digits) if unit == "share" else amount(number, digits)

    rows = [
        (
            Cell(tick, note="so far" if series.provisional[place] else ""),
            Cell(count(series.n[place]), series.n[place]),
            *(
                Cell(
                    as_text(line[place].value), line[place].value, note=_span(line[place], as_text)
                )
                for line in series.lines.values()
            ),
        )
        for place, tick in enumerate(ticks)
    ]
    return Chart(
        name="over-time",
        title=title,
        summary=f"{title}, {plural(len(ticks), period)}. The table below has every number.",
        kind="lines",
        drawing={
            "ticks": ticks,
            "open": list(series.provisional),
            "name": SHARE_AXIS if unit == "share" else " and ".join(names),
            "lines": [
                {
                    "label": name,
                    "value": [moment.value for moment in line],
                    "lower": [moment.lower for moment in line],
                    "upper": [moment.upper for moment in line],
                }
                for name, line in zip(names, series.lines.values(), strict=True)
            ],
        },
        columns=(period.capitalize(), "Reports", *names),
        rows=rows,
        unit="share" if unit == "share" else "",
        digits=digits,
        files=files,
        key=names,
    )


def with_notes(
    chart: Chart, notes: Sequence[NoteRow], epochs: Sequence[int], seconds: int
) -> Chart:
    """The chart of these epochs with the notes of their time, drawn and in its table."""
    by_place: dict[int, list[str]] = {}
    for note in notes:
        epoch = epoch_at(note.at, seconds)
        if epochs[0] <= epoch <= epochs[-1]:
            by_place.setdefault(bisect_left(epochs, epoch), []).append(note.body)
    texts = {place: "; ".join(bodies) for place, bodies in sorted(by_place.items())}
    if not texts:
        return chart
    rows = [
        (replace(first, note=f"{first.note} {texts.get(place, '')}".strip()), *cells)
        for place, (first, *cells) in enumerate(chart.rows)
    ]
    drawn = [{"place": place, "text": text} for place, text in texts.items()]
    return replace(chart, rows=rows, drawing={**chart.drawing, "notes": drawn})


def _cells(row: LabelEstimate, digits: int, projected: bool, follow: Follow) -> list[Cell]:
    def as_text(value: float | None) -> str:
        return share(value, digits)

    unsure = _sure(row) is False
    cells = [Cell(row.label, href=follow(row.label), note="not significant" if unsure else "")]
    if projected and not isinstance(row.projected, UnsetType):
        cells.append(Cell(as_text(row.projected), row.projected))
    fakes = row.reports_to_leave_interval
    cells += [
        Cell(as_text(row.frequency), row.frequency),
        *interval_cells(row, as_text),
        people_cell(row.count),
        Cell("none can" if fakes is None else count(fakes), fakes),
        *_liars_cells(row, as_text),
    ]
    return cells


def _liars_cells(row: LabelEstimate, as_text: NumberText) -> list[Cell]:
    """Limits that hold under lies, where they were asked for."""
    lower, upper, zero = row.lower_under_lies, row.upper_under_lies, row.liars_to_zero
    if isinstance(lower, UnsetType) or isinstance(upper, UnsetType) or isinstance(zero, UnsetType):
        return []
    return [
        Cell(as_text(lower), lower, to=Cell(as_text(upper), upper)),
        Cell(as_text(zero), zero),
    ]


def _cell(cell: LabelEstimate, digits: int, projected: bool, most: float) -> Cell:
    value = _value(cell, projected)
    shade = None if value is None or most <= 0 else round(10 * max(value, 0.0) / most)
    return Cell(
        share(value, digits),
        value,
        note="" if projected else _margin(cell, digits),
        shade=shade,
    )


def _margin(cell: LabelEstimate, digits: int) -> str:
    """The margin of error. An interval that ends at 0 or 1 is cut there: then its other end."""
    if cell.lower is None or cell.upper is None:
        return ""
    if cell.lower <= 0:
        return f"up to {share(cell.upper, digits)}"
    if cell.upper >= 1:
        return f"from {share(cell.lower, digits)}"
    return f"± {share((cell.upper - cell.lower) / 2, digits)}"


def _value(cell: LabelEstimate, projected: bool) -> float | None:
    if projected and not isinstance(cell.projected, UnsetType):
        return cell.projected
    return cell.frequency


def _limits(row: LabelEstimate) -> tuple[float | None, float | None]:
    """What is drawn around the value; nothing where the interval says nothing."""
    if isinstance(row.projected_lower, UnsetType) or isinstance(row.projected_upper, UnsetType):
        return row.lower, row.upper
    if row.projected_lower == 0 and row.projected_upper == 1:
        return None, None
    return row.projected_lower, row.projected_upper


def _sure(row: LabelEstimate) -> bool | None:
    return None if isinstance(row.significant, UnsetType) else row.significant


def _width(row: LabelEstimate) -> float:
    """In per cent."""
    return 0.0 if row.lower is None or row.upper is None else 100 * (row.upper - row.lower)


def _span(moment: object, as_text: Callable[[float | None], str]) -> str:
    lower, upper = getattr(moment, "lower", None), getattr(moment, "upper", None)
    return "" if lower is None else f"{as_text(lower)} to {as_text(upper)}"


def _summary(title: str, rows: Sequence[LabelEstimate], digits: int) -> str:
    if not rows or rows[0].frequency is None:
        return title
    most = max(rows, key=lambda row: row.frequency or 0.0)
    between = f"between {share(most.lower, digits)} and {share(most.upper, digits)}"
    return (
        f"{title}. Largest: {most.label}, {share(most.frequency, digits)}, {between}. "
        "The table below has every number."
    )


def _attribute(domain: Record, name: str) -> list[str]:
    return list(dict(domain.attributes)[name])
