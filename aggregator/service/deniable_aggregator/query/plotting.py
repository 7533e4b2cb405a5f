"""Plots estimates with their intervals in matplotlib: error bars by label, bands over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Row", "bands", "bars", "estimate_column", "is_drawable"]

Row = Mapping[str, object]


def bars(ax: Axes, rows: Sequence[Row], about: Mapping[str, object]) -> None:
    """Draw a dot with its interval for each label; labels without an estimate are left out.

    The interval is drawn separately, because a raw estimate may lie outside it.
    """
    name = estimate_column(rows)
    drawable = [row for row in rows if is_drawable(row, name)]
    for place, row in enumerate(drawable):
        ax.plot([_number(row, "lower"), _number(row, "upper")], [place, place], "|-", color="C0")
        ax.plot([_number(row, name)], [place], "o", color="C0")
    ax.set_yticks(range(len(drawable)), [_plain(str(row["label"])) for row in drawable])
    ax.invert_yaxis()
    ax.set_xlabel(name)
    _finish(ax, about, "x", shares=_are_shares(name, about))


def bands(ax: Axes, rows: Sequence[Row], about: Mapping[str, object]) -> None:
    """Draw a line for each label, with the band of its intervals."""
    by_label: dict[str, list[Row]] = {}
    name = estimate_column(rows)
    for row in rows:
        if is_drawable(row, name):
            by_label.setdefault(str(row["label"]), []).append(row)
    for label, label_rows in by_label.items():
        times = [datetime.fromisoformat(str(row["time"])) for row in label_rows]
        lower, middle, upper = (
            [_number(row, key) for row in label_rows] for key in ("lower", name, "upper")
        )
        (line,) = ax.plot(times, middle, marker=".", label=_plain(label))  # type: ignore[arg-type]  # matplotlib takes datetimes, its types do not
        ax.fill_between(times, lower, upper, alpha=0.2, color=line.get_color())  # type: ignore[arg-type]  # matplotlib takes datetimes, its types do not
    ax.set_ylabel(name)
    ax.legend()
    ax.tick_params(axis="x", rotation=30)
    _finish(ax, about, "y", shares=_are_shares(name, about))


def _finish(ax: Axes, about: Mapping[str, object], axis: str, *, shares: bool) -> None:
    from matplotlib.ticker import PercentFormatter

    if shares:
        getattr(ax, f"{axis}axis").set_major_formatter(PercentFormatter(1.0))
    confidence = about.get("confidence")
    ax.set_title(_plain(f"{about.get('collection', '')}, intervals at confidence {confidence}"))
    ax.grid(visible=True, axis="x" if axis == "x" else "y", alpha=0.3)


def estimate_column(rows: Sequence[Row]) -> str:
    """The column to draw: differences, else values in their units, else frequencies."""
    given = (name for name in ("difference", "value") if _any_has(rows, name))
    return next(given, "frequency")


def _any_has(rows: Sequence[Row], name: str) -> bool:
    return any(row.get(name) is not None for row in rows)


def _are_shares(name: str, about: Mapping[str, object]) -> bool:
    return name == "frequency" or (name == "difference" and about.get("unit") == "share")


def is_drawable(row: Row, name: str) -> bool:
    """Whether it has an estimate in this column, and an interval."""
    return all(isinstance(row.get(key), (int, float)) for key in (name, "lower", "upper"))


def _number(row: Row, name: str) -> float:
    value = row.get(name)
    return float(value) if isinstance(value, (int, float)) else float("nan")


def _plain(text: str) -> str:
    """Text in which matplotlib reads no dollar sign as a formula."""
    return text.replace("$", r"\$")
