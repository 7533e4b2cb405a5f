"""Draws the best mechanisms as a map: a tile for each size and ε in the mechanism's colour."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from deniable_aggregator.collections.planning.sweep import RECORDS, Radices, decisions, radices_text

if TYPE_CHECKING:
    from collections.abc import Sequence

_COLUMNS = tuple(Fraction(round(100 * 60 ** (step / 30)), 1000) for step in range(31))
_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999933", "#cc6622")
_INK = "#808080"
_TILE, _HEIGHT, _TOP, _LEGEND = 14, 12, 44, 170
_MOST = {"bits": 4_096, "text": 64, "ranges": 1_024, "mean": 4_096}
_LARGEST = 65_536


def render_svg(
    *,
    domain_type: str = "choice",
    asks: str = "labels",
    repeat: str = "once",
    linkable: bool = False,
) -> str:
    """The map as SVG with logarithmic axes, legible on white and on black.

    Records have a row each. Arguments as in `decisions`.
    """
    rows = _rows(domain_type, asks)[::-1]
    choices = decisions(
        rows, _COLUMNS, domain_type=domain_type, asks=asks, repeat=repeat, linkable=linkable
    )
    ids = sorted({choice.mechanism for choice in choices})
    colours = {
        mechanism_id: _COLOURS[place % len(_COLOURS)] for place, mechanism_id in enumerate(ids)
    }
    left = 60
    tiles = [
        f'<rect x="{left + column * _TILE}" y="{_TOP + row * _HEIGHT}" width="{_TILE}" '
        f'height="{_HEIGHT}" fill="{colours[choices[row * len(_COLUMNS) + column].mechanism]}"/>'
        for row in range(len(rows))
        for column in range(len(_COLUMNS))
    ]
    width = left + len(_COLUMNS) * _TILE + _LEGEND
    height = _TOP + max(len(rows) * _HEIGHT, 18 * len(ids)) + 44
    below = _TOP + len(rows) * _HEIGHT
    subject = domain_type if asks == "labels" else f"{domain_type}, asked for its {asks}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="11" fill="{_INK}">',
        f"<title>Mechanism by size of a {subject} and ε</title>",
        _text(left, 18, f"Mechanism of a {subject} that names none, {repeat}", size=13),
        *tiles,
        *_axes(rows, left, below),
        *_legend(colours, left),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _rows(domain_type: str, asks: str) -> Sequence[int | Radices]:
    if domain_type == "record":
        return RECORDS
    most = _MOST.get(domain_type, _MOST.get(asks, _LARGEST))
    steps = 24 if most > 64 else 12
    return sorted({round(2 * (most / 2) ** (step / steps)) for step in range(steps + 1)})


def _axes(rows: Sequence[int | Radices], left: int, below: int) -> list[str]:
    sizes = [
        _text(left - 6, _TOP + place * _HEIGHT + 9, _named(size), anchor="end")
        for place, size in enumerate(rows)
        if place % 4 == 0 or not isinstance(size, int)
    ]
    epsilons = [
        _text(left + place * _TILE, below + 16, f"{float(epsilon):.2g}")
        for place, epsilon in enumerate(_COLUMNS)
        if place % 5 == 0
    ]
    return [
        *sizes,
        *epsilons,
        _text(left, below + 34, "ε of one report"),
        _text(6, _TOP - 8, "size"),
    ]


def _named(size: int | Radices) -> str:
    return f"{size:,}" if isinstance(size, int) else radices_text(size)


def _legend(colours: dict[str, str], left: int) -> list[str]:
    x = left + len(_COLUMNS) * _TILE + 16
    entries = []
    for place, (mechanism_id, colour) in enumerate(colours.items()):
        y = _TOP + 18 * place
        entries.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>')
        entries.append(_text(x + 18, y + 10, mechanism_id))
    return entries


def _text(x: int, y: int, text: str, *, size: int = 11, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{text}</text>'
