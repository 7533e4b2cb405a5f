"""Rows as HTML for notebooks: a table, and for estimates each interval drawn in its row."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from deniable_aggregator.query.plotting import estimate_column, is_drawable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.query.plotting import Row

__all__ = ["rows_html"]

MOST_ROWS = 40
_ABOUT = ("collection", "mechanism", "n", "confidence")
_FIRST = ("label", "time")
_WIDTH, _HEIGHT, _EDGE = 180, 16, 4


def rows_html(rows: Sequence[Row], about: Mapping[str, object], *, drawn: bool) -> str:
    """An HTML table of the first rows; with `drawn` a column of intervals along one scale."""
    columns = _columns(rows)
    first = rows[:MOST_ROWS]
    picture = _Intervals(rows) if drawn else None
    head = [*columns, *(["interval"] if picture else [])]
    body = [
        [*(_cell(row.get(name)) for name in columns), *([picture.of(row)] if picture else [])]
        for row in first
    ]
    left = len(rows) - len(first)
    more = f"<p>… and {left:,} more rows</p>" if left else ""
    return f"<p>{_about_text(about, len(rows))}</p>{_table(head, body)}{more}"


def _about_text(about: Mapping[str, object], rows: int) -> str:
    facts = [f"{name} {escape(str(about[name]))}" for name in _ABOUT if about.get(name) is not None]
    return ", ".join([*facts, f"{rows:,} rows"])


def _columns(rows: Sequence[Row]) -> list[str]:
    """The columns with a value in some row; columns that identify a row come first."""
    names = dict.fromkeys(name for row in rows for name in row if row[name] is not None)
    return [*(name for name in _FIRST if name in names), *(n for n in names if n not in _FIRST)]


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = "".join(
        "<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in body
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else escape(str(value))


class _Intervals:
    """Draws the intervals of rows on one common scale, with a line at 0."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._name = estimate_column(rows)
        ends = [
            float(str(row[end])) for row in rows if self._has(row) for end in ("lower", "upper")
        ]
        self._low = min([0.0, *ends])
        self._high = max([0.0, *ends])

    def of(self, row: Row) -> str:
        """The drawing of one row; empty if it has no interval of this kind."""
        if not self._has(row) or self._high == self._low:
            return ""
        lower, value, upper, zero = map(
            self._place, (row["lower"], row[self._name], row["upper"], 0.0)
        )
        middle = _HEIGHT / 2
        return (
            f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="interval">'
            f'<line x1="{zero}" x2="{zero}" y1="0" y2="{_HEIGHT}" stroke="#999"/>'
            f'<line x1="{lower}" x2="{upper}" y1="{middle}" y2="{middle}" stroke="#8d8df0" '
            f'stroke-width="4"/><circle cx="{value}" cy="{middle}" r="4" fill="#4f4fcb"/></svg>'
        )

    def _has(self, row: Row) -> bool:
        return is_drawable(row, self._name)

    def _place(self, value: object) -> float:
        share = (float(str(value)) - self._low) / (self._high - self._low)
        return round(_EDGE + (_WIDTH - 2 * _EDGE) * min(max(share, 0.0), 1.0), 1)
