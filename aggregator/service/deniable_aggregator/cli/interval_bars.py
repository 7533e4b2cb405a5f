"""Draws intervals as text: one line each, all on one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.cli.output import LONGEST_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

TEN_PERCENT = 0.1
NARROWEST, WIDEST = 12, 40
"""The least and greatest width of a bar in a table, in characters."""


@dataclass(frozen=True, slots=True)
class BarCharacters:
    """The characters a bar is drawn with."""

    left: str
    line: str
    right: str
    estimate: str
    truth: str
    both: str


UNICODE = BarCharacters(left="├", line="─", right="┤", estimate="●", truth="◇", both="◆")
ASCII = BarCharacters(left="|", line="-", right="|", estimate="o", truth="x", both="X")


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of frequencies over `width` characters."""

    low: float
    high: float
    width: int = 32
    ascii_only: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high or self.width < 2:
            raise ValueError(f"a scale needs low < high and width ≥ 2, got {self!r}")

    def bar(
        self,
        lower: float,
        upper: float,
        frequency: float | None,
        truth: float | None = None,
    ) -> str:
        """The interval with its estimate and, if known, the truth."""
        marks = ASCII if self.ascii_only else UNICODE
        first, last = self._column(lower), self._column(upper)
        cells = [marks.line if first <= place <= last else " " for place in range(self.width)]
        cells[first], cells[last] = marks.left, marks.right
        if frequency is not None:
            cells[self._column(frequency)] = marks.estimate
        if truth is not None:
            same = frequency is not None and self._column(truth) == self._column(frequency)
            cells[self._column(truth)] = marks.both if same else marks.truth
        return "".join(cells)

    def legend(self) -> str:
        """A line that explains the marks."""
        marks = ASCII if self.ascii_only else UNICODE
        bar = f"{marks.left}{marks.line}{marks.right}"
        return f"{bar} interval  {marks.estimate} estimate  {marks.truth} truth  {marks.both} both"

    def ends(self) -> str:
        """The two ends of the scale, as percentages."""
        low, high = f"{self.low:.0%}", f"{self.high:.0%}"
        return low + high.rjust(self.width - len(low))

    def _column(self, frequency: float) -> int:
        share = (frequency - self.low) / (self.high - self.low)
        return round(min(max(share, 0.0), 1.0) * (self.width - 1))


def scale_over(values: Iterable[float], *, width: int = 32, ascii_only: bool = False) -> Scale:
    """The smallest scale in tens of percent that contains 0 and every value."""
    ends = [0.0, *values]
    low = _floor_to_tenth(min(ends))
    high = -_floor_to_tenth(-max(ends))
    return Scale(low, high if high > low else low + TEN_PERCENT, width, ascii_only)


def _floor_to_tenth(value: float) -> float:
    return (value * 10 // 1) / 10


def bar_room(screen: Console, lines: Sequence[Sequence[str]]) -> int:
    """Characters that a table of these cells leaves for a column of bars."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    widths[0] = min(widths[0], LONGEST_LABEL)
    return screen.width - sum(widths) - 3 * (len(widths) + 1) - 1
