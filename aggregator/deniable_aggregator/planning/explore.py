"""The decision over a grid: which mechanism for how many labels at which ε; rows and a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from deniable_shared.errors import ParameterError
from deniable_shared.recommendation import recommend

__all__ = ["EPSILONS", "SIZES", "Choice", "decisions", "drawn"]

SIZES = (2, 5, 16, 64, 100, 256, 1_000, 10_000, 60_000)
EPSILONS = ("0.1", "0.5", "1", "2", "4", "6")
_ROWS = tuple(round(2 * 32_768 ** (step / 24)) for step in range(25))
_COLUMNS = tuple(Fraction(round(100 * 60 ** (step / 30)), 1000) for step in range(31))
_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999933", "#cc6622")
_INK = "#808080"
_TILE, _HEIGHT, _LEFT, _TOP, _LEGEND = 14, 12, 60, 44, 170


@dataclass(frozen=True, slots=True)
class Choice:
    """What is taken for one domain and ε."""

    domain: int
    epsilon: str
    mechanism: str
    payload_bytes: int
    ratio_to_optimum: float | None


def decisions(
    sizes: Sequence[int] = SIZES,
    epsilons: Sequence[str | Fraction] = EPSILONS,
    *,
    type: str = "choice",
) -> list[Choice]:
    """One choice for each size and ε, sizes first."""
    if not sizes or not epsilons:
        raise ParameterError("sizes and epsilons must name at least one each")
    return [_choice(type, size, epsilon) for size in sizes for epsilon in epsilons]


def _choice(type: str, size: int, epsilon: str | Fraction) -> Choice:
    chosen = recommend(type, size, Fraction(epsilon))
    ratio = chosen.ratio_to_optimum
    return Choice(
        size,
        str(epsilon),
        chosen.id,
        chosen.mechanism.payload_size,
        None if ratio is None else float(ratio),
    )


def drawn(*, type: str = "choice") -> str:
    """The map as SVG, both axes logarithmic; it can be read on white and on black."""
    largest = 4_096 if type == "bits" else 65_536
    rows = [size for size in _ROWS if size <= largest][::-1]
    choices = decisions(rows, _COLUMNS, type=type)
    ids = sorted({choice.mechanism for choice in choices})
    colours = {id: _COLOURS[place % len(_COLOURS)] for place, id in enumerate(ids)}
    tiles = [
        f'<rect x="{_LEFT + column * _TILE}" y="{_TOP + row * _HEIGHT}" width="{_TILE}" '
        f'height="{_HEIGHT}" fill="{colours[choices[row * len(_COLUMNS) + column].mechanism]}"/>'
        for row in range(len(rows))
        for column in range(len(_COLUMNS))
    ]
    width = _LEFT + len(_COLUMNS) * _TILE + _LEGEND
    height = _TOP + len(rows) * _HEIGHT + 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="11" fill="{_INK}">',
        f"<title>Mechanism by size of a {type} and ε</title>",
        _text(_LEFT, 18, f"Mechanism of a {type} that names none", size=13),
        *tiles,
        *_axes(rows, height),
        *_legend(colours),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _axes(rows: Sequence[int], height: int) -> list[str]:
    sizes = [
        _text(_LEFT - 6, _TOP + place * _HEIGHT + 9, f"{size:,}", anchor="end")
        for place, size in enumerate(rows)
        if place % 4 == 0
    ]
    epsilons = [
        _text(_LEFT + place * _TILE, height - 28, f"{float(epsilon):.2g}")
        for place, epsilon in enumerate(_COLUMNS)
        if place % 5 == 0
    ]
    return [
        *sizes,
        *epsilons,
        _text(_LEFT, height - 10, "ε of one report"),
        _text(6, _TOP - 8, "size"),
    ]


def _legend(colours: dict[str, str]) -> list[str]:
    x = _LEFT + len(_COLUMNS) * _TILE + 16
    found = []
    for place, (id, colour) in enumerate(colours.items()):
        y = _TOP + 18 * place
        found.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>')
        found.append(_text(x + 18, y + 10, id))
    return found


def _text(x: int, y: int, text: str, *, size: int = 11, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{text}</text>'
