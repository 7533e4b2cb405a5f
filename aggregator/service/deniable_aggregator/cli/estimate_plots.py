"""Draws estimates in the terminal: one interval a line, as wide as the screen, on one scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.cli.estimate_tables import title_of
from deniable_aggregator.cli.evidence_tables import sentences_of
from deniable_aggregator.cli.interval_bars import Scale, scale_over
from deniable_aggregator.cli.output import console, escape_control_characters, escape_markup

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from deniable_aggregator.documents.estimates import (
        EstimatesByEpochDocument,
        EstimatesDocument,
        LabelEstimate,
        QuantityDocument,
    )

NARROWEST, WIDEST = 16, 100
LONGEST_NAME = 28
MARK = "bold cyan"


@dataclass(frozen=True, slots=True)
class PlotLine:
    """One line: its name, its interval, and the same in figures."""

    name: str
    value: float | None
    lower: float | None
    upper: float | None
    said: str


def plot_estimates(document: EstimatesDocument) -> None:
    """Draw one document of estimates."""
    quantities = [_quantity(row) for row in document.quantities]
    if quantities and document.clipped:
        ends = (document.clipped.low, document.clipped.high)
        _plot(title_of(document), quantities, ends)
    labels = [_label(row.label, row) for row in document.estimates]
    if labels:
        _plot(title_of(document), labels)
    for sentence in sentences_of(document):
        console().print(sentence)
    _end(document)


def plot_by_epoch(document: EstimatesByEpochDocument) -> None:
    """Draw all epochs, label by label."""
    for title, lines in _by_label(document.epochs):
        _plot(title, lines)
    _end(document.epochs[0])


def _by_label(epochs: Sequence[EstimatesDocument]) -> Iterator[tuple[str, list[PlotLine]]]:
    by_label: dict[str, list[PlotLine]] = {}
    for document in epochs:
        epoch = f"epoch {document.epochs[0]}"
        for row in document.estimates:
            by_label.setdefault(row.label, []).append(_label(epoch, row))
    for label, lines in by_label.items():
        yield f"{epochs[0].collection}: {escape_control_characters(label)}", lines


def _label(name: str, row: LabelEstimate) -> PlotLine:
    value, lower, upper = row.frequency, row.lower, row.upper
    said = "nothing was reported"
    if value is not None and lower is not None and upper is not None:
        said = f"{value * 100:.1f}%  ({lower * 100:.1f} to {upper * 100:.1f})"
    return PlotLine(escape_control_characters(name), value, lower, upper, said)


def _quantity(row: QuantityDocument) -> PlotLine:
    said = "nothing was reported"
    if row.value is not None:
        said = f"{row.value:.5g}  ({row.lower:.5g} to {row.upper:.5g})"
    return PlotLine(row.name, row.value, row.lower, row.upper, said)


def _plot(title: str, lines: Sequence[PlotLine], ends: tuple[str, str] | None = None) -> None:
    from rich.text import Text

    screen = console()
    names = min(max(len(line.name) for line in lines), LONGEST_NAME)
    figures = max(len(line.said) for line in lines)
    scale = _scale(screen, screen.width - names - figures - 4, lines, ends)
    axis = scale.ends() if ends is None else ends[0] + ends[1].rjust(scale.width - len(ends[0]))
    screen.print(f"\n[bold]{escape_markup(title)}[/bold]\n", soft_wrap=True)
    screen.print(Text(f"{'':{names}}  {axis}", style="dim"))
    for line in lines:
        bar = "" if line.lower is None or line.upper is None else _bar(scale, line)
        drawn = Text(f"{_cut(line.name):{names}}  ")
        drawn.append(f"{bar:{scale.width}}", style=MARK)
        drawn.append(f"  {line.said}")
        screen.print(drawn, no_wrap=True, crop=False)


def _bar(scale: Scale, line: PlotLine) -> str:
    return scale.bar(line.lower or 0.0, line.upper or 0.0, line.value)


def _scale(
    screen: Console, room: int, lines: Sequence[PlotLine], ends: tuple[str, str] | None
) -> Scale:
    width = min(max(room, NARROWEST), WIDEST)
    plain = not screen.encoding.lower().startswith("utf")
    if ends is not None:
        return Scale(float(ends[0]), float(ends[1]), width, plain)
    ends_of = ((line.lower, line.value, line.upper) for line in lines)
    numbers = [each for ends_of_line in ends_of for each in ends_of_line if each is not None]
    return scale_over(numbers, width=width, ascii_only=plain)


def _end(document: EstimatesDocument) -> None:
    console().print(f"\nEach line is an interval at confidence {document.confidence:.4g}.")


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
