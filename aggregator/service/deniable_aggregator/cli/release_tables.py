"""Prints a release, its price, or an answer of its session, as tables.

The result of a release is a JSON object. Each list of objects in it becomes a table, with a bar for
each row that has an interval. Everything else becomes a line.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from deniable_aggregator.cli.interval_bars import NARROWEST, WIDEST, Scale, bar_room, scale_over
from deniable_aggregator.cli.output import console, escape_markup, plain_table
from deniable_aggregator.documents.describe import (
    cost_words,
    epochs_words,
    four_digits,
    moment,
    promise_words,
    request_text,
    typical_words,
)

if TYPE_CHECKING:
    from rich.console import Console

    from deniable_aggregator.documents.releases import (
        AnswerDocument,
        BarDocument,
        PlannedDocument,
        QuoteDocument,
        ReleaseDocument,
        RemainingDocument,
    )

Row = Mapping[str, Any]
"""A row of a table in a result: its columns depend on the mechanism."""

SHARES = frozenset({"frequency", "lower", "upper", "projected", "std_error", "share"})
FIRST = (
    *("epoch", "good", "quantity", "label", "labels", "price", "prices"),
    *("frequency", "share", "value", "least", "most"),
)
"""These members of a result come first; JSON keeps its members in alphabetical order."""

CURRENCIES = (("ε", "epsilon"), ("ρ", "rho"), ("δ", "delta"))

_BETWEEN_CELLS = re.compile(r", (?=[^,=]+=)")


def release_table(document: ReleaseDocument) -> None:
    """Print the result, its error, its cost and its privacy guarantee."""
    click.echo(f"{document.collection}: {request_text(document)}")
    _print_result(document.result)
    _print_error_bars(document.error_bars)
    _print_lines(typical_words(document))
    if document.questions:
        click.echo(
            "It takes questions: "
            f"deniable releases ask {document.collection} {document.release} "
            f"{question_option(document.result.get('labels'))}"
        )
    click.echo(
        f"Release {document.release}, charged {moment(document.created)}: "
        f"{cost_words(document.guarantee)} to {_epochs_text(document)}."
    )
    _print_left_out(document)
    _print_lines(promise_words(document))


def quote_table(document: QuoteDocument) -> None:
    """Print the budget before and after, the error of the answer and the privacy guarantees."""
    click.echo(f"{document.collection}: {request_text(document)}")
    click.echo(f"Draws {document.law} from {_epochs_text(document)}.")
    _print_left_out(document)
    before, after = document.budget, document.after
    plain_table(
        ["account", "", "limit", "left before", "left after"],
        [
            *_account_rows(
                "the epoch with the least left", before.epoch, after.epoch if after else None
            ),
            *_account_rows(
                "one installation", before.installation, after.installation if after else None
            ),
        ],
    )
    _print_error_bars(document.expected)
    _print_lines(typical_words(document))
    _print_lines(promise_words(document))
    if document.stored is not None:
        click.echo(f"It was paid for as release {document.stored}: the same request is free.")
    elif document.refusal is not None:
        click.echo(f"It would be refused: {document.refusal}.")
    else:
        click.echo("Nothing was charged.")


def answer_table(document: AnswerDocument) -> None:
    """Print the answer of a session, and how many new questions it still takes."""
    _print_result(document.result)
    _print_error_bars(document.error_bars)
    click.echo(f"New questions left: {document.questions_left:,}")


def question_option(labels: object) -> str:
    """The option of a question to a session over these labels, with an example of them.

    Of a record it names labels of the first two attributes: mechanisms of tables refuse more.
    """
    named = [str(label) for label in labels] if isinstance(labels, list) else []
    cells = _BETWEEN_CELLS.split(named[0]) if named else []
    attribute, equals, _ = cells[0].partition("=") if cells else ("", "", "")
    if equals and cells[1:] and all(label.startswith(f"{attribute}=") for label in named):
        return f"--cells {shlex.quote(', '.join(cells[:2]))}"
    if any("," in label for label in named):
        return f"--labels {shlex.quote(json.dumps(named[:2], ensure_ascii=False))}"
    return "--labels A,B"


def _epochs_text(document: PlannedDocument) -> str:
    one = len(document.epochs) == 1
    many = f", {document.n:,} reports" if isinstance(document.n, int) else ""
    return f"epoch{'' if one else 's'} {epochs_words(document.epochs)}{many}"


def _print_left_out(document: PlannedDocument) -> None:
    epochs = document.too_few_reports
    if epochs:
        plural = "" if len(epochs) == 1 else "s"
        click.echo(f"Too few reports to read: epoch{plural} {epochs_words(epochs)}.")


def _account_rows(
    name: str, before: RemainingDocument, after: RemainingDocument | None
) -> Iterable[list[str]]:
    """One row for each currency that has a limit."""
    for symbol, key in CURRENCIES:
        limit, left = getattr(before.limit, key), getattr(before.left, key)
        if limit is not None and (key == "epsilon" or limit != "0"):
            then = "–" if after is None else str(getattr(after.left, key))
            yield [name, symbol, limit, str(left), then]
            name = ""


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        console().print(escape_markup(line))


def _print_result(result: Mapping[str, object]) -> None:
    for name in _order_columns(result):
        value = result[name]
        rows = _rows_of(value)
        if rows:
            _print_rows(name, rows)
        else:
            console().print(escape_markup(f"{name.replace('_', ' ')}: {_cell(name, value)}"))


def _rows_of(value: object) -> list[Row]:
    """The objects of a JSON array."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _print_rows(name: str, rows: Sequence[Row]) -> None:
    """Print objects with equal members as a table; the interval and its bar come last."""
    columns = [key for key in _order_columns(rows[0]) if key not in {"lower", "upper"}]
    names = [column.replace("_", " ") for column in columns]
    lines = [[_cell(column, row.get(column)) for column in columns] for row in rows]
    numbers = frozenset(n for n, c in zip(names, columns, strict=True) if _is_number(rows, c))
    if any(_interval(row) for row in rows):
        names.append("95% interval")
        lines = [[*cells, _limits(row)] for cells, row in zip(lines, rows, strict=True)]
        screen = console()
        room = bar_room(screen, [names, *lines])
        if room >= NARROWEST:
            scale = _scale(screen, room, rows)
            names.append(scale.ends())
            lines = [[*cells, _bar(row, scale)] for cells, row in zip(lines, rows, strict=True)]
    title = name.replace("_", " ")
    plain_table(names, lines, title=title, numbers=numbers, whole=frozenset(names[1:]))


def _scale(screen: Console, room: int, rows: Sequence[Row]) -> Scale:
    """A scale as wide as the other columns leave room for."""
    ends = [end for row in rows for end in _interval(row) or ()]
    middles = [middle for row in rows if (middle := _middle(row)) is not None]
    return scale_over(
        [*ends, *middles],
        width=min(room, WIDEST),
        ascii_only=not screen.encoding.lower().startswith("utf"),
    )


def _interval(row: Row) -> tuple[float, float] | None:
    lower, upper = _number(row.get("lower")), _number(row.get("upper"))
    return None if lower is None or upper is None else (lower, upper)


def _limits(row: Row) -> str:
    ends = _interval(row)
    return "–" if ends is None else " to ".join(_cell("lower", end) for end in ends)


def _bar(row: Row, scale: Scale) -> str:
    ends = _interval(row)
    return "" if ends is None else scale.bar(*ends, _middle(row))


def _order_columns(names: Iterable[str]) -> list[str]:
    listed = [*names]
    return [*(n for n in FIRST if n in listed), *(n for n in listed if n not in FIRST)]


def _middle(row: Row) -> float | None:
    """The estimate inside the interval; None if the row has none."""
    return _number(row.get("frequency", row.get("share")))


def _is_number(rows: Sequence[Row], column: str) -> bool:
    return all(isinstance(row.get(column), int | float) for row in rows)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _cell(name: str, value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.1%}" if name in SHARES else four_digits(value)
    if isinstance(value, list):
        return ", ".join(_cell(name, each) for each in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) and name != "epoch" else str(value)


def _print_error_bars(bars: Sequence[BarDocument]) -> None:
    if bars:
        plain_table(
            ["error", "from", "to", "probability"],
            [
                [bar.quantity, _end(bar.lower), _end(bar.upper), f"{bar.confidence:.4g}"]
                for bar in bars
            ],
        )


def _end(value: float | None) -> str:
    return "–" if value is None else four_digits(value)
