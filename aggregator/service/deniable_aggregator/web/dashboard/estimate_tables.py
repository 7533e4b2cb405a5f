"""Tables of estimates: a row has its number, its interval drawn and written, and its error.

Behind every number is that of the API, to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import UnsetType

from deniable_aggregator.documents.estimates import (
    EstimatesDocument,
    LabelEstimate,
    QuantityDocument,
    RangeDocument,
    SeriesRow,
    SetDocument,
)
from deniable_aggregator.web.dashboard.charts import DRAWN, Cell, Table
from deniable_aggregator.web.dashboard.formatting import amount, count, digits_for, share
from deniable_aggregator.web.dashboard.svg import Axis, Band, Interval, axis_over, band_over
from deniable_shared.domains import Domain, Record

HasInterval = LabelEstimate | QuantityDocument | RangeDocument | SeriesRow | SetDocument
NumberText = Callable[[float | None], str]

INTERVAL = (DRAWN, "Interval", "± 1 se")


def plain_label(domain: Domain, label: str) -> str:
    """`windows, large` of os=windows, screen=large; other labels as they are."""
    if not isinstance(domain, Record):
        return label
    for name in domain.topics:
        label = label.removeprefix(f"{name}=").replace(f", {name}=", ", ")
    return label


def quantity_table(document: EstimatesDocument) -> Table | None:
    """Mean and quantiles of numbers, in their units; None of other domains."""
    rows = document.quantities
    if not rows or isinstance(document.clipped, UnsetType):
        return None
    axis = axis_of(rows, shares=False)
    return Table(
        name="quantities",
        title="In numbers",
        columns=("Of all people", "Value", *INTERVAL),
        rows=[_quantity_cells(row, decimals_of(document, row)) for row in rows],
        axis=axis,
    )


def shares_table(document: EstimatesDocument) -> Table | None:
    """The sets of labels and the ranges of numbers that were asked for; None without any."""
    named: list[tuple[str, SetDocument | RangeDocument]] = []
    named += [(" or ".join(row.labels), row) for row in document.sets or []]
    named += [(f"{row.low} to {row.high}", row) for row in document.ranges or []]
    if not named:
        return None
    digits = digits_for(100 * (row.upper - row.lower) for _, row in named)

    def as_text(value: float | None) -> str:
        return share(value, digits)

    return Table(
        name="shares",
        title="Together",
        columns=("Answer", "Estimate", *INTERVAL, "People"),
        rows=[
            (
                Cell(name),
                Cell(as_text(row.frequency), row.frequency),
                *interval_cells(row, as_text),
                people_cell(row.count),
            )
            for name, row in named
        ],
        axis=axis_of(row for _, row in named),
    )


def interval_cells(row: HasInterval, as_text: NumberText) -> tuple[Cell, Cell, Cell]:
    """The interval drawn, its ends, and the standard error: cells of the columns INTERVAL."""
    value, lower, upper = _ends(row)
    if value is None or lower is None or upper is None:
        return Cell("–"), Cell("–"), Cell("–")
    error = as_text(row.std_error).removesuffix("\u202f%")
    return (
        Cell(interval=Interval(value, lower, upper)),
        Cell(as_text(lower), lower, to=Cell(as_text(upper), upper)),
        Cell(error, row.std_error),
    )


def quantity_name(name: str) -> str:
    """What people call `mean`, `p50` or `p10`."""
    if name in ("mean", "p50"):
        return {"mean": "Mean", "p50": "Median"}[name]
    return f"{name.removeprefix('p')} % are at or below"


def decimals_of(document: EstimatesDocument, row: QuantityDocument) -> int:
    """Decimals of the mean by its interval; of a quantile those of the steps."""
    if row.name == "mean" or isinstance(document.clipped, UnsetType):
        return digits_for([row.upper - row.lower])
    return len(document.clipped.step.partition(".")[2])


def _quantity_cells(row: QuantityDocument, digits: int) -> tuple[Cell, ...]:
    def as_text(value: float | None) -> str:
        return amount(value, digits)

    name = Cell(quantity_name(row.name))
    return name, Cell(as_text(row.value), row.value), *interval_cells(row, as_text)


def series_table(rows: Sequence[SeriesRow], starts: Callable[[int], str]) -> Table:
    """Every estimate of every epoch in a row of its own."""
    as_text = _series_text(rows)
    return Table(
        name="over-time",
        title="Over time",
        columns=("From", "Answer", "Estimate", *INTERVAL[1:], "Reports"),
        rows=[
            (
                Cell(starts(row.epoch), note="so far" if row.provisional else ""),
                Cell(_series_name(row)),
                Cell(as_text(_ends(row)[0]), _ends(row)[0]),
                *interval_cells(row, as_text)[1:],
                Cell(count(row.n), row.n),
            )
            for row in rows
        ],
    )


def series_bands(rows: Sequence[SeriesRow], axis: Axis) -> Mapping[str, Band]:
    """For each answer its estimates over time, drawn."""
    intervals: dict[str, dict[int, Interval]] = {}
    for row in rows:
        value, lower, upper = _ends(row)
        if value is not None and lower is not None and upper is not None:
            of_label = intervals.setdefault(_series_name(row), {})
            of_label[row.epoch] = Interval(value, lower, upper)
    return {name: band_over(axis, each) for name, each in intervals.items()}


def people_cell(people: float | None) -> Cell:
    """How many people an estimate is in all."""
    return Cell("–" if people is None else count(round(people)), people)


def axis_of(rows: Iterable[HasInterval], *, shares: bool = True) -> Axis:
    """An axis that holds every interval."""
    return axis_over((end for row in rows for end in _ends(row)), shares=shares)


def has_numbers(rows: Sequence[SeriesRow]) -> bool:
    """Whether these are means and quantiles and not shares."""
    return any(isinstance(row.value, float) for row in rows)


def _series_name(row: SeriesRow) -> str:
    return quantity_name(row.label) if isinstance(row.value, float) else row.label


def _series_text(rows: Sequence[SeriesRow]) -> NumberText:
    numbers = has_numbers(rows)
    widths = (
        row.upper - row.lower for row in rows if row.upper is not None and row.lower is not None
    )
    digits = digits_for(width if numbers else 100 * width for width in widths)
    return lambda value: amount(value, digits) if numbers else share(value, digits)


def _ends(row: HasInterval) -> tuple[float | None, float | None, float | None]:
    """Estimate, lower and upper end."""
    if isinstance(row, QuantityDocument):
        return row.value, row.lower, row.upper
    if isinstance(row, SeriesRow) and isinstance(row.value, float):
        return row.value, row.lower, row.upper
    return row.frequency, row.lower, row.upper
