"""A chart and its table: one object, so that what is drawn and what is read are the same numbers.

`drawing` goes to the browser as JSON and is drawn by `deniable.js`; `columns` and `rows` are the
table that says the same without a picture. Texts stay texts in both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Drawing = Mapping[str, object]
Kind = Literal["bars", "columns", "heat", "lines"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the table: what is read, the exact number behind it, where it leads."""

    text: str
    value: float | int | None = None
    href: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """`name` is its id on the page and the name of its files; `summary` says it in a sentence.

    bars      drawing: rows of {label, value, lower, upper, text, sure}, drawn downwards
    columns   the same, drawn side by side: for what has an order
    lines     drawing: ticks, and lines of {label, value, lower, upper}, a list each
    heat      drawing: across, down, and values row by row
    `unit` is "share" for shares of 1, "points" for differences of shares in percentage points, else
    what stands behind a number; `digits` its decimals. A drawing that is `signed` has a + before
    what is more, one with `most` ends there.
    `key` names the lines.
    """

    name: str
    title: str
    summary: str
    kind: Kind
    drawing: Drawing
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    unit: str = "share"
    digits: int = 1
    files: Mapping[str, str] | None = None
    key: Sequence[str] = ()

    def __post_init__(self) -> None:
        uneven = [row for row in self.rows if len(row) != len(self.columns)]
        if uneven:
            raise ValueError(
                f"rows must have {len(self.columns)} cells each, got {len(uneven[0])} in one"
            )

    @property
    def document(self) -> Drawing:
        """What the browser draws."""
        return {"kind": self.kind, "unit": self.unit, "digits": self.digits, **self.drawing}
