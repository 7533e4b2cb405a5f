"""A chart and its table: one object, so that what is drawn and what is read are the same numbers.

`drawing` goes to the browser as JSON and is drawn by `deniable.js`; `columns` and `rows` are the
table that says the same without a picture. Texts stay texts in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from deniable_aggregator.web.dashboard.svg import Axis, Interval

Drawing = Mapping[str, object]
Kind = Literal["bars", "columns", "heat", "lines", "pairs"]

DRAWN = ""
"""The name of a column of intervals that are drawn along the axis of its table."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the table: what is read, the exact number behind it, where it leads.

    `to` is the upper end of an interval. `interval` is drawn. `shade` is from 0 to 10.
    """

    text: str = ""
    value: float | int | None = None
    href: str | None = None
    note: str = ""
    to: Cell | None = None
    interval: Interval | None = None
    shade: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """`name` is its id on the page; a column DRAWN has intervals along `axis`."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    axis: Axis | None = None

    def __post_init__(self) -> None:
        uneven = [row for row in self.rows if len(row) != len(self.columns)]
        if uneven:
            raise ValueError(
                f"rows must have {len(self.columns)} cells each, got {len(uneven[0])} in one"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart(Table):
    """`name` is also the name of its files; `summary` says it in a sentence.

    bars      drawing: rows of {label, value, lower, upper, text, sure}, drawn downwards
    pairs     drawing: rows of {label, before, after}, each {value, lower, upper}
    columns   as bars, drawn side by side: for what has an order; `names` of both axes
    lines     drawing: ticks, whether each is `open`, and lines of {label, value, lower, upper},
              a list each; `name` of the upright axis
    heat      drawing: across, down, and values row by row
    `unit` is "share" for shares of 1, "points" for differences of shares in percentage points, else
    the unit after a number; `digits` its decimals. A drawing that is `signed` has a + before
    what is more, one with `most` ends there.
    `key` names the lines.
    """

    summary: str
    kind: Kind
    drawing: Drawing
    unit: str = "share"
    digits: int = 1
    files: Mapping[str, str] | None = None
    key: Sequence[str] = ()

    @property
    def document(self) -> Drawing:
        """What the browser draws."""
        return {"kind": self.kind, "unit": self.unit, "digits": self.digits, **self.drawing}
