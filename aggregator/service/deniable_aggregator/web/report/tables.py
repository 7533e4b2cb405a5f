"""Estimates as a table with a chart for a column: a row says a value, and draws it with its doubt.

Every figure stands in a `data` element with the digits of the API beside those that are shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec import UnsetType

from deniable_aggregator.documents.estimates import EstimatesDocument, QuantityDocument, SeriesRow
from deniable_aggregator.web.report.markup import Child, Element, element
from deniable_aggregator.web.report.svg_charts import (
    Axis,
    Point,
    axis_over,
    axis_row,
    band,
    interval,
)

MOST_LABELS = 500
MOST_DIGITS = 4
FABRICATED = "reports_to_leave_interval"
NumberFormat = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Row:
    """An estimate of a label or a quantity; `name` is what `value` is called in the API."""

    label: str
    name: str
    value: float | None
    std_error: float | None
    lower: float | None
    upper: float | None
    fabricated: int | None = None
    """Fewest reports that push the frequency out of its interval."""


def label_table(estimates: EstimatesDocument, *, together: bool) -> Element:
    """Frequencies with intervals, in the order of the domain."""
    rows = [
        Row(
            each.label,
            "frequency",
            each.frequency,
            each.std_error,
            each.lower,
            each.upper,
            each.reports_to_leave_interval,
        )
        for each in estimates.estimates[:MOST_LABELS]
    ]
    as_text = _percent(_digits(rows, 100))
    caption = (
        "Frequencies are unbiased and raw: of a label that hardly anybody has they may lie outside "
        f"their interval, or below 0. Intervals hold at confidence {estimates.confidence}"
        f"{', all of them together' if together else ', each by itself'}. The last "
        "column says how many made-up reports would push the estimate out of its interval."
    )
    heads = ("label", "frequency", "± 1 se", "interval", "made-up reports")
    return _table(rows, heads, axis_over(_ends(rows)), as_text, caption)


def quantity_table(estimates: EstimatesDocument) -> Element | None:
    """Mean and quantiles of numbers, in their units; None of other domains."""
    rows = list(map(_row_of_quantity, estimates.quantities))
    clipped = estimates.clipped
    if not rows or not clipped:
        return None
    as_text = _plain(_digits(rows, 1))
    caption = (
        f"In the units of the domain, clipped to {clipped.low} … {clipped.high} and told to "
        f"the nearest step of {clipped.step}. p50 is the value that half of the people do not "
        "exceed."
    )
    heads = ("quantity", "value", "± 1 se", "interval")
    return _table(rows, heads, axis_over(_ends(rows), shares=False), as_text, caption)


def _row_of_quantity(each: QuantityDocument) -> Row:
    return Row(each.name, "value", each.value, each.std_error, each.lower, each.upper)


def series_charts(
    series: Sequence[SeriesRow], dates: Callable[[SeriesRow], str]
) -> tuple[list[Element], Element] | None:
    """A band over time for each label, on one scale, and the same as a table."""
    numbers = any(isinstance(row.value, float) for row in series)
    rows = [_row_of_series(each, numbers=numbers) for each in series]
    axis = axis_over(_ends(rows), shares=not numbers)
    points: dict[str, list[Point]] = {}
    for row, each in zip(rows, series, strict=True):
        points.setdefault(row.label, []).append(_point(row, dates(each)))
    drawn = [
        element(
            "figure",
            element("h3", label),
            band(axis, points, _said_of(label, len(points))),
            class_="card",
        )
        for label, points in points.items()
    ]
    return (drawn, _series_table(rows, series, dates)) if drawn else None


def _row_of_series(each: SeriesRow, *, numbers: bool) -> Row:
    name, value = ("value", _number(each.value)) if numbers else ("frequency", each.frequency)
    return Row(each.label, name, value, each.std_error, each.lower, each.upper)


def _number(value: float | UnsetType | None) -> float | None:
    return None if isinstance(value, UnsetType) else value


def _said_of(label: str, epochs: int) -> str:
    return f"{label} over {epochs} epochs with the band of its intervals; the table has them"


def _point(row: Row, date: str) -> Point:
    return Point(date, _or_zero(row.value), _or_zero(row.lower), _or_zero(row.upper))


def _series_table(
    rows: Sequence[Row], series: Sequence[SeriesRow], dates: Callable[[SeriesRow], str]
) -> Element:
    name = rows[0].name
    as_text = _percent(_digits(rows, 100)) if name == "frequency" else _plain(_digits(rows, 1))
    body = element("tbody")
    for row, each in zip(rows, series, strict=True):
        body.append(
            element(
                "tr",
                element("th", dates(each), scope="row"),
                element("td", row.label),
                element("td", _data(name, row.value, as_text)),
                element("td", *_ends_of(row, as_text)),
                element("td", _data("std_error", row.std_error, _without_percent(as_text))),
                element("td", _data("n", each.n, _whole)),
            )
        )
    return element("table", _head(("epoch", "label", name, "interval", "± 1 se", "n")), body)


def _table(
    rows: Sequence[Row], heads: Sequence[str], axis: Axis, as_text: NumberFormat, caption: str
) -> Element:
    body = element("tbody")
    for row in rows:
        cells: list[Child] = [
            element("th", row.label, scope="row"),
            element("td", _data(row.name, row.value, as_text), class_="told"),
            element("td", _interval_chart(axis, row, as_text), class_="drawn"),
            element("td", _data("std_error", row.std_error, _without_percent(as_text))),
            element("td", *_ends_of(row, as_text)),
        ]
        if row.name == "frequency":
            cells.append(element("td", _data(FABRICATED, row.fabricated, _whole)))
        body.append(element("tr", *cells))
    head = _head(heads)
    head[0].insert(2, _axis_head(axis))
    return element("div", element("table", head, body), element("p", caption, class_="soft note"))


def _interval_chart(axis: Axis, row: Row, as_text: NumberFormat) -> Element | None:
    if row.value is None or row.lower is None or row.upper is None:
        return None
    said = f"{row.label}: {as_text(row.value)}, {as_text(row.lower)} to {as_text(row.upper)}"
    return interval(axis, row.value, row.lower, row.upper, said)


def _axis_head(axis: Axis) -> Element:
    first, last = (axis.name(tick) for tick in (axis.ticks()[0], axis.ticks()[-1]))
    said = element("span", f"drawn, from {first} to {last}", class_="heard")
    return element("th", said, axis_row(axis), scope="col", class_="drawn")


def _head(names: Sequence[str]) -> Element:
    return element("thead", element("tr", *(element("th", name, scope="col") for name in names)))


def _ends_of(row: Row, as_text: NumberFormat) -> list[Child]:
    return [_data("lower", row.lower, as_text), " to ", _data("upper", row.upper, as_text)]


def _data(name: str, value: float | None, as_text: NumberFormat) -> Element | str:
    if value is None:
        return "–"
    return element("data", as_text(value), value=repr(value), class_=name.replace("_", "-"))


def _or_zero(value: float | None) -> float:
    return math.nan if value is None else value


def _ends(rows: Sequence[Row]) -> list[float]:
    return [_or_zero(each) for row in rows for each in (row.value, row.lower, row.upper)]


def _digits(rows: Sequence[Row], unit: float) -> int:
    """Decimals that show the first digit of half a typical interval."""
    widths = sorted(unit * (_or_zero(row.upper) - _or_zero(row.lower)) / 2 for row in rows)
    positive = [width for width in widths if width > 0]
    if not positive:
        return 1
    return min(max(-math.floor(math.log10(positive[len(positive) // 2])), 1), MOST_DIGITS)


def _percent(digits: int) -> NumberFormat:
    return lambda value: _true_minus(f"{value * 100:,.{digits}f}%")


def _plain(digits: int) -> NumberFormat:
    return lambda value: _true_minus(f"{value:,.{digits}f}")


def _without_percent(as_text: NumberFormat) -> NumberFormat:
    """In points, of what is shown in per cent."""
    return lambda value: as_text(value).removesuffix("%")


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _true_minus(text: str) -> str:
    nothing = not any(digit in text for digit in "123456789")
    return text.replace("-", "" if nothing else "−")
