"""Charts of a document of estimates: bars, columns, a cross-tabulation, lines by epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import UnsetType

from deniable_aggregator.documents.estimates import (
    EstimatesDocument,
    LabelEstimate,
    QuantityDocument,
)
from deniable_aggregator.queries.label_series import LabelSeries
from deniable_aggregator.web.dashboard.charts import Cell, Chart
from deniable_aggregator.web.dashboard.formatting import amount, count, digits_for, share, when
from deniable_shared.domains import Record

Follow = Callable[[str], str | None]

RAW = ("Estimate", "Interval", "People", "Made-up reports that would move it")


def bar_chart(
    rows: Sequence[LabelEstimate],
    *,
    title: str,
    files: Mapping[str, str],
    follow: Follow,
    ordered: bool = False,
) -> Chart:
    """One bar a label, with its interval unless it is projected: then there is none."""
    digits = digits_for(map(_width, rows))
    projected = any(not isinstance(row.projected, UnsetType) for row in rows)
    drawn_rows = [
        {
            "label": row.label,
            "value": row.projected if projected else row.frequency,
            "lower": None if projected else row.lower,
            "upper": None if projected else row.upper,
            "sure": _sure(row),
        }
        for row in rows
    ]
    columns = ("Answer", *(("Projected",) if projected else ()), *RAW)
    return Chart(
        name="estimates",
        title=title,
        summary=_summary(title, rows, digits),
        kind="columns" if ordered else "bars",
        drawing={"rows": drawn_rows},
        columns=columns,
        rows=[_cells(row, digits, projected, follow) for row in rows],
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
) -> Chart:
    """Two attributes against each other, cell by cell."""
    down, across = (_attribute(domain, name) for name in names)
    rows = [
        list(document.estimates[start : start + len(across)])
        for start in range(0, len(document.estimates), len(across))
    ]
    digits = digits_for(map(_width, document.estimates))
    projected = any(not isinstance(cell.projected, UnsetType) for row in rows for cell in row)
    return Chart(
        name="estimates",
        title=title,
        summary=_summary(title, document.estimates, digits),
        kind="heat",
        drawing={
            "down": down,
            "across": across,
            "values": [[_value(cell, projected) for cell in row] for row in rows],
            "lower": [[None if projected else cell.lower for cell in row] for row in rows],
            "upper": [[None if projected else cell.upper for cell in row] for row in rows],
        },
        columns=("", *across),
        rows=[
            (Cell(label), *(_cell(cell, digits, projected) for cell in row))
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
    unit: str = "share",
) -> Chart:
    """A line a label over the epochs, with the interval of each epoch as a band."""
    ticks = [when(epoch_start(epoch)) for epoch in series.epochs]
    names = list(series.lines) if unit == "share" else ["Mean"]
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
            Cell(tick, note="still open" if series.provisional[place] else ""),
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
        summary=f"{title}, {len(ticks)} epochs. The table below has every number.",
        kind="lines",
        drawing={
            "ticks": ticks,
            "lines": [
                {
                    "label": label,
                    "value": [moment.value for moment in line],
                    "lower": [moment.lower for moment in line],
                    "upper": [moment.upper for moment in line],
                }
                for label, line in series.lines.items()
            ],
        },
        columns=("Epoch from", "Reports", *names),
        rows=rows,
        unit="share" if unit == "share" else "",
        digits=digits,
        files=files,
        key=names,
    )


def quantity_rows(
    document: EstimatesDocument,
) -> list[tuple[str, QuantityDocument, int]]:
    """Mean and quantiles of numbers: what they are called, what they are, how many decimals."""
    if isinstance(document.clipped, UnsetType):
        return []
    steps = len(document.clipped.step.partition(".")[2])
    quantiles = () if isinstance(document.quantiles, UnsetType) else document.quantiles
    rows = [(_quantile(each.name), each, steps) for each in quantiles]
    if isinstance(document.mean, UnsetType):
        return rows
    middle = document.mean
    return [("Mean", middle, digits_for([middle.upper - middle.lower])), *rows]


def _quantile(name: str) -> str:
    return "Median" if name == "p50" else f"{name.removeprefix('p')} % are at or below"


def _cells(row: LabelEstimate, digits: int, projected: bool, follow: Follow) -> list[Cell]:
    unsure = _sure(row) is False
    cells = [Cell(row.label, href=follow(row.label), note="not significant" if unsure else "")]
    if projected and not isinstance(row.projected, UnsetType):
        cells.append(Cell(share(row.projected, digits), row.projected))
    fakes = row.reports_to_leave_interval
    cells += [
        Cell(share(row.frequency, digits), row.frequency),
        Cell(f"{share(row.lower, digits)} to {share(row.upper, digits)}"),
        Cell("–" if row.count is None else count(round(row.count)), row.count),
        Cell("none can" if fakes is None else count(fakes), fakes),
    ]
    return cells


def _cell(cell: LabelEstimate, digits: int, projected: bool) -> Cell:
    value = _value(cell, projected)
    between = f"{share(cell.lower, digits)} to {share(cell.upper, digits)}"
    return Cell(share(value, digits), value, note="" if projected else between)


def _value(cell: LabelEstimate, projected: bool) -> float | None:
    if projected and not isinstance(cell.projected, UnsetType):
        return cell.projected
    return cell.frequency


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
