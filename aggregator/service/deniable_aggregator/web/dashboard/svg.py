"""What templates draw as SVG: intervals along an axis, and bands over time.

Axes and bands are in per cent of the drawing: it is as wide as its place, and no text is stretched.
Colours are classes of the stylesheet, so that light, dark and print are one drawing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOST_TICKS = 6
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the ends of its interval."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A round number at its place on an axis."""

    name: str
    place: float
    zero: bool


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale with round ticks; `shares` have the unit %."""

    low: float
    high: float
    step: float
    shares: bool = True

    def __post_init__(self) -> None:
        if not (self.low < self.high and self.step > 0):
            raise ValueError(f"an axis needs low < high and step > 0, got {self!r}")

    def place(self, value: float) -> float:
        """Per cent of the way from low to high; values outside are drawn at the ends."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 3)

    @property
    def ticks(self) -> list[Tick]:
        """Multiples of the step."""
        first = math.ceil(self.low / self.step - 1e-9)
        last = math.floor(self.high / self.step + 1e-9)
        values = [number * self.step for number in range(first, last + 1)]
        return [Tick(self._name(value), self.place(value), value == 0) for value in values]

    def _name(self, value: float) -> str:
        text, unit = (f"{100 * value:.6g}", "\u202f%") if self.shares else (f"{value:.6g}", "")
        return text.replace("-", "−") + unit


def axis_over(values: Iterable[float | None], *, shares: bool = True) -> Axis:
    """The least scale of round steps that holds every value, and 0 where these are shares."""
    finite = [value for value in values if value is not None and math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    if shares:
        low, high = min(low, 0.0), max(high, 0.01)
    if high - low <= 0:
        high = low + 1.0
    rough = (high - low) / (MOST_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in _STEPS if each * power >= rough * (1 - 1e-9))
    return Axis(
        math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step, shares
    )


@dataclass(frozen=True, slots=True)
class Band:
    """Points of an SVG polygon and polyline, in per cent both ways."""

    area: str
    line: str


def band_over(axis: Axis, intervals: Mapping[int, Interval]) -> Band:
    """From epoch to interval: estimates over time with the band of their intervals."""
    epochs = sorted(intervals)
    first, length = epochs[0], max(epochs[-1] - epochs[0], 1)

    def points(end: str) -> list[str]:
        ends = ((epoch, getattr(intervals[epoch], end)) for epoch in epochs)
        return [
            f"{100 * (epoch - first) / length:.3f},{100 - axis.place(value):.3f}"
            for epoch, value in ends
        ]

    area = [*points("upper"), *reversed(points("lower"))]
    return Band(" ".join(area), " ".join(points("value")))
