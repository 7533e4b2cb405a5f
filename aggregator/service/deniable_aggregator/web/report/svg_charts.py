"""Charts as inline SVG: intervals on a scale that stretches with its column, and bands over time.

Positions are per cent of the column, so that a chart is as wide as its place and its text is not
stretched. Colours are classes of the page's style: light, dark and print are one drawing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from deniable_aggregator.web.report.markup import Element, element

MOST_TICKS = 6
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
INTERVAL_HEIGHT = 22
AXIS_HEIGHT = 20
BAND_HEIGHT = 150
LEFT, TOP, BOTTOM = 12, 8, 22


@dataclass(frozen=True, slots=True)
class Point:
    """An estimate at a place of the horizontal axis."""

    at: str
    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale with round ticks; `shares` are shown in per cent."""

    low: float
    high: float
    step: float
    shares: bool = True

    def __post_init__(self) -> None:
        if not (self.low < self.high and self.step > 0):
            raise ValueError(f"an axis needs low < high and step > 0, got {self!r}")

    def place(self, value: float) -> float:
        """Per cent of the way from low to high, cut at both."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 3)

    def ticks(self) -> list[float]:
        """Multiples of the step."""
        first = math.ceil(self.low / self.step - 1e-9)
        last = math.floor(self.high / self.step + 1e-9)
        return [tick * self.step for tick in range(first, last + 1)]

    def name(self, tick: float) -> str:
        """As people read it."""
        value, unit = (tick * 100, "%") if self.shares else (tick, "")
        return f"{value:.6g}{unit}".replace("-", "−")


def axis_over(values: Sequence[float], *, shares: bool = True) -> Axis:
    """The least scale of round steps that holds 0, if these are shares, and every value."""
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    if shares:
        low, high = min(low, 0.0), max(high, 0.01)
    if high - low <= 0:
        high = low + 1.0
    rough = (high - low) / (MOST_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in STEPS if each * power >= rough * (1 - 1e-9))
    return Axis(
        math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step, shares
    )


def axis_row(axis: Axis) -> Element:
    """The names of the ticks, for the head of a column of intervals."""
    drawn = element("svg", class_="axis", height=AXIS_HEIGHT, aria_hidden="true")
    for tick in axis.ticks():
        at = f"{axis.place(tick)}%"
        drawn.append(element("text", axis.name(tick), x=at, y=14, text_anchor="middle"))
    return drawn


def interval(axis: Axis, value: float, lower: float, upper: float, said: str) -> Element:
    """One interval with its estimate; `said` is what a screen reader says."""
    middle = INTERVAL_HEIGHT / 2
    drawn = element("svg", class_="interval", height=INTERVAL_HEIGHT, role="img", aria_label=said)
    for tick in axis.ticks():
        at = f"{axis.place(tick)}%"
        kind = "zero" if tick == 0 else "grid"
        drawn.append(element("line", class_=kind, x1=at, x2=at, y1=0, y2=INTERVAL_HEIGHT))
    ends = [f"{axis.place(end)}%" for end in (lower, upper)]
    drawn.append(element("line", class_="range", x1=ends[0], x2=ends[1], y1=middle, y2=middle))
    for end in ends:
        drawn.append(
            element("line", class_="end", x1=end, x2=end, y1=middle - 5, y2=middle + 5),
        )
    drawn.append(element("circle", class_="estimate", cx=f"{axis.place(value)}%", cy=middle, r=4.5))
    return drawn


def band(axis: Axis, points: Sequence[Point], said: str) -> Element:
    """Estimates in the order of time with the band of their intervals; gaps are not hidden."""
    drawn = element("svg", class_="band", height=BAND_HEIGHT, role="img", aria_label=said)
    inner = BAND_HEIGHT - TOP - BOTTOM
    for tick in axis.ticks():
        height = round(TOP + inner * (1 - axis.place(tick) / 100), 2)
        kind = "zero" if tick == 0 else "grid"
        drawn.append(element("line", class_=kind, x1=f"{LEFT}%", x2="100%", y1=height, y2=height))
        drawn.append(
            element("text", axis.name(tick), x=f"{LEFT - 2}%", y=height + 4, text_anchor="end")
        )
    drawn.append(_band_box(axis, points, inner))
    for place in sorted({0, len(points) - 1}):
        across = _across(place, len(points))
        at = LEFT + (100 - LEFT) * across / 100
        anchor = "start" if across < 50 else "end"
        drawn.append(
            element("text", points[place].at, x=f"{at:.3f}%", y=BAND_HEIGHT - 6, text_anchor=anchor)
        )
    return drawn


def _band_box(axis: Axis, points: Sequence[Point], inner: int) -> Element:
    """Band and line in a box of their own, in per cent both ways."""
    count = len(points)
    upper = [_pair(_across(i, count), axis.place(p.upper)) for i, p in enumerate(points)]
    lower = [_pair(_across(i, count), axis.place(p.lower)) for i, p in enumerate(points)]
    middle = [_pair(_across(i, count), axis.place(p.value)) for i, p in enumerate(points)]
    return element(
        "svg",
        element("polygon", class_="area", points=" ".join([*upper, *reversed(lower)])),
        element("polyline", class_="course", points=" ".join(middle)),
        x=f"{LEFT}%",
        y=TOP,
        width=f"{100 - LEFT}%",
        height=inner,
        viewBox="0 0 100 100",
        preserveAspectRatio="none",
    )


def _across(place: int, count: int) -> float:
    return 50.0 if count == 1 else 100 * place / (count - 1)


def _pair(across: float, up: float) -> str:
    return f"{across:.3f},{100 - up:.3f}"
