"""Estimates as a table with a chart for a column: a row says a value, and draws it with its doubt.

Every figure stands in a `data` element with the digits of the API beside those that are shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from deniable_aggregator.report.facts import Document, rows_of
from deniable_aggregator.report.figures import (
    Axis,
    Point,
    axis_over,
    axis_row,
    band,
    interval,
)
from deniable_aggregator.report.markup import Child, Element, element

__all__ = ["MOST_LABELS", "courses", "label_table", "quantity_table"]

MOST_LABELS = 500
MOST_DIGITS = 4
Shown = Callable[[float], str]


def label_table(estimates: Document, *, together: bool) -> Element:
    """Frequencies with intervals, in the order of the domain."""
    rows = rows_of(estimates["estimates"])[:MOST_LABELS]
    shown = _percent(_digits(rows, 100))
    caption = (
        "Frequencies are unbiased and raw: of a label that hardly anybody has they may lie outside "
        f"their interval, or below 0. Intervals hold at confidence {estimates['confidence']}"
        f"{', all of them together' if together else ', each by itself'}. The last "
        "column says how many made-up reports would push the estimate out of its interval."
    )
    heads = ("label", "frequency", "± 1 se", "interval", "made-up reports")
    return _table(
        rows,
        "label",
        "frequency",
        heads,
        axis_over(_ends(rows, "frequency")),
        shown,
        caption,
        last="reports_to_leave_interval",
    )


def quantity_table(estimates: Document) -> Element | None:
    """Mean and quantiles of numbers, in their units; None of other domains."""
    rows = [*rows_of([estimates.get("mean")]), *rows_of(estimates.get("quantiles"))]
    clipped = estimates.get("clipped")
    if not rows or not isinstance(clipped, dict):
        return None
    shown = _plain(_digits(rows, 1))
    caption = (
        f"In the units of the domain, clipped to {clipped['low']} … {clipped['high']} and told to "
        f"the nearest step of {clipped['step']}. p50 is the value that half of the people do not "
        "exceed."
    )
    heads = ("quantity", "value", "± 1 se", "interval")
    axis = axis_over(_ends(rows, "value"), shares=False)
    return _table(rows, "name", "value", heads, axis, shown, caption)


def courses(
    series: Sequence[Document], dates: Callable[[Document], str]
) -> tuple[list[Element], Element] | None:
    """A band over time for each label, on one scale, and the same as a table."""
    by_label: dict[str, list[Document]] = {}
    for row in series:
        by_label.setdefault(str(row["label"]), []).append(row)
    numbers = any(row.get("value") is not None for row in series)
    name = "value" if numbers else "frequency"
    axis = axis_over(_ends(series, name), shares=not numbers)
    drawn = [
        element(
            "figure",
            element("h3", label),
            band(axis, [_point(row, name, dates) for row in rows], _said_of(label, rows)),
            class_="card",
        )
        for label, rows in by_label.items()
        if rows
    ]
    return (drawn, _course_table(series, name, dates)) if drawn else None


def _said_of(label: str, rows: Sequence[Document]) -> str:
    return f"{label} over {len(rows)} epochs with the band of its intervals; the table has them"


def _point(row: Document, name: str, dates: Callable[[Document], str]) -> Point:
    return Point(dates(row), _known(row, name), _known(row, "lower"), _known(row, "upper"))


def _course_table(
    series: Sequence[Document], name: str, dates: Callable[[Document], str]
) -> Element:
    shown = _percent(_digits(series, 100)) if name == "frequency" else _plain(_digits(series, 1))
    body = element("tbody")
    for row in series:
        body.append(
            element(
                "tr",
                element("th", dates(row), scope="row"),
                element("td", str(row["label"])),
                element("td", _data(row, name, shown)),
                element("td", *_ends_of(row, shown)),
                element("td", _data(row, "std_error", _bare(shown))),
                element("td", _data(row, "n", _whole)),
            )
        )
    return element("table", _head(("epoch", "label", name, "interval", "± 1 se", "n")), body)


def _table(
    rows: Sequence[Document],
    label: str,
    name: str,
    heads: Sequence[str],
    axis: Axis,
    shown: Shown,
    caption: str,
    *,
    last: str = "",
) -> Element:
    body = element("tbody")
    for row in rows:
        cells: list[Child] = [
            element("th", str(row[label]), scope="row"),
            element("td", _data(row, name, shown), class_="told"),
            element("td", _drawn(axis, row, label, name, shown), class_="drawn"),
            element("td", _data(row, "std_error", _bare(shown))),
            element("td", *_ends_of(row, shown)),
        ]
        if last:
            cells.append(element("td", _data(row, last, _whole)))
        body.append(element("tr", *cells))
    head = _head(heads)
    head[0].insert(2, _axis_head(axis))
    return element("div", element("table", head, body), element("p", caption, class_="soft note"))


def _drawn(axis: Axis, row: Document, label: str, name: str, shown: Shown) -> Element | None:
    if row[name] is None or row["lower"] is None or row["upper"] is None:
        return None
    value, lower, upper = (_known(row, key) for key in (name, "lower", "upper"))
    said = f"{row[label]}: {shown(value)}, {shown(lower)} to {shown(upper)}"
    return interval(axis, value, lower, upper, said)


def _axis_head(axis: Axis) -> Element:
    first, last = (axis.name(tick) for tick in (axis.ticks()[0], axis.ticks()[-1]))
    said = element("span", f"drawn, from {first} to {last}", class_="heard")
    return element("th", said, axis_row(axis), scope="col", class_="drawn")


def _head(names: Sequence[str]) -> Element:
    return element("thead", element("tr", *(element("th", name, scope="col") for name in names)))


def _ends_of(row: Document, shown: Shown) -> list[Child]:
    return [_data(row, "lower", shown), " to ", _data(row, "upper", shown)]


def _data(row: Document, name: str, shown: Shown) -> Element | str:
    value = row[name]
    if not isinstance(value, (int, float)):
        return "–"
    return element("data", shown(value), value=repr(value), class_=name.replace("_", "-"))


def _known(row: Document, name: str) -> float:
    value = row[name]
    return float(value) if isinstance(value, (int, float)) else math.nan


def _ends(rows: Sequence[Document], name: str) -> list[float]:
    return [_known(row, key) for row in rows for key in (name, "lower", "upper")]


def _digits(rows: Sequence[Document], unit: float) -> int:
    """Decimals that show the first digit of half a typical interval."""
    widths = sorted(unit * (_known(row, "upper") - _known(row, "lower")) / 2 for row in rows)
    known = [width for width in widths if width > 0]
    if not known:
        return 1
    return min(max(-math.floor(math.log10(known[len(known) // 2])), 1), MOST_DIGITS)


def _percent(digits: int) -> Shown:
    return lambda value: _signed(f"{value * 100:,.{digits}f}%")


def _plain(digits: int) -> Shown:
    return lambda value: _signed(f"{value:,.{digits}f}")


def _bare(shown: Shown) -> Shown:
    """In points, of what is shown in per cent."""
    return lambda value: shown(value).removesuffix("%")


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _signed(text: str) -> str:
    nothing = not any(digit in text for digit in "123456789")
    return text.replace("-", "" if nothing else "−")
