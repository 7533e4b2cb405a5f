"""Prints one JSON document or tables on standard output, and messages on standard error."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ParamSpec, TextIO, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from msgspec import Struct
    from rich.console import Console
    from rich.table import Table

    from deniable_aggregator.client.connection import Answer
    from deniable_aggregator.operations.doctor import Check

PIPE_WIDTH = 100
WHOLE = frozenset({"at", "collection", "id", "release", "when"})
"""Columns that never break: ids, which people copy into other commands, and moments."""

LONGEST_LABEL = 24
NO_COLLECTION = "No collection is registered: `deniable collections new` writes one."
"""The longest word of a label, in characters, that never breaks."""

Document = TypeVar("Document", bound="Struct")


def emit(document: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(document, ensure_ascii=not speaks_unicode(sys.stdout), indent=2))


def show(
    answer: Answer[Document],
    table: Callable[[Document], None],
    *,
    as_json: bool,
    as_csv: bool = False,
) -> None:
    """Print an answer: CSV or JSON as the service sent it, or as `table` prints it."""
    if as_csv:
        click.echo(answer.body, nl=False)
    elif as_json:
        emit(answer.json())
    else:
        table(answer.document)


def speaks_unicode(stream: TextIO) -> bool:
    """Whether the stream can write every Unicode character."""
    return (stream.encoding or "").lower().startswith("utf")


def say(message: str) -> None:
    """Print a line for the person at the terminal, on standard error."""
    click.echo(message, err=True)


def console(stream: TextIO | None = None) -> Console:
    """A rich console, on standard output by default.

    Its width is COLUMNS, else that of the terminal, else 100 characters.
    """
    from rich.console import Console

    file = stream or sys.stdout
    is_known = file.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(file=file, width=None if is_known else PIPE_WIDTH, highlight=False)


def plain_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    numbers: frozenset[str] = frozenset({"n"}),
    whole: frozenset[str] = WHOLE,
) -> None:
    """Print a table of text; if the screen is too narrow, one line for each cell.

    Columns in `numbers` are aligned right. Columns in `whole` never break.
    """
    screen = console()
    if title:
        screen.print(escape_markup(title), style="bold")
    widths = column_widths([columns, *rows], table_room(len(columns)), whole=whole)
    if widths is None:
        _print_records(columns, rows, screen.width)
        return
    rich_table = table(columns, numbers=numbers, widths=widths)
    for row in rows:
        rich_table.add_row(*map(escape_markup, row))
    screen.print(rich_table)


def table_room(columns: int) -> int:
    """Characters that the screen has for the cells of this many columns."""
    return console().width - 3 * columns - 1


def column_widths(
    lines: Sequence[Sequence[str]], room: int, *, whole: frozenset[str] = WHOLE
) -> list[int] | None:
    """Widths in characters that add up to `room` and break no word; None if `room` is too small.

    The first line names the columns. Cells of columns in `whole` do not break at all.
    """
    columns = list(zip(*lines, strict=True))
    widths = [max(map(len, column)) for column in columns]
    least = [
        width if column[0] in whole else _longest_word(column)
        for width, column in zip(widths, columns, strict=True)
    ]
    if sum(least) > room:
        return None
    while sum(widths) > room:
        shrinking = (place for place, width in enumerate(widths) if width > least[place])
        widths[max(shrinking, key=widths.__getitem__)] -= 1
    return widths


def _longest_word(column: Sequence[str]) -> int:
    """The least width of a column in characters; long labels fold."""
    longest = max((len(word) for cell in column for word in cell.split()), default=1)
    return min(longest, LONGEST_LABEL) if column[0] == "label" else longest


def _print_records(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> None:
    """Print each cell on a line of its own, broken only between words: ids stay whole."""
    indent = max(map(len, columns)) + 2
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            click.echo(_hanging(f"{column:<{indent}}{cell}", indent, width))
        click.echo()


def _hanging(text: str, indent: int, width: int) -> str:
    from textwrap import fill

    return fill(
        text,
        max(width, indent + 1),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(
    columns: Sequence[str],
    *,
    title: str | None = None,
    numbers: frozenset[str] = frozenset({"n"}),
    widths: Sequence[int] | None = None,
) -> Table:
    """An empty table; columns in `numbers` are aligned right."""
    from rich import box
    from rich.table import Table

    rich_table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for place, column in enumerate(columns):
        rich_table.add_column(
            escape_markup(column),
            justify="right" if column in numbers else "left",
            overflow="fold",
            width=None if widths is None else widths[place],
        )
    return rich_table


def escape_control_characters(text: str) -> str:
    """Text with control, direction and combining characters written as escapes."""
    from unicodedata import combining

    return "".join(
        character
        if character.isprintable() and (place or not combining(character))
        else ascii(character)[1:-1]
        for place, character in enumerate(text)
    )


def escape_markup(text: str) -> str:
    """Text in which rich sees no markup."""
    from rich.markup import escape

    return escape(text)


COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def print_checks(checks: Sequence[Check]) -> None:
    """Print one line for each check: ok, warn or fail."""
    for check in checks:
        level = click.style(f"{check.level:<4}", fg=COLOURS[check.level])
        click.echo(f"{level}  {check.what:<12}  {check.message}")


def as_documents(checks: Sequence[Check]) -> list[dict[str, str]]:
    """The checks as JSON objects."""
    return [
        {"level": check.level, "what": check.what, "message": check.message} for check in checks
    ]


def has_failure(checks: Sequence[Check]) -> bool:
    """Whether any check fails."""
    return any(check.level == "fail" for check in checks)


P = ParamSpec("P")
R = TypeVar("R")


def access_table(columns: Sequence[str], rows: Iterable[Struct]) -> None:
    """Print one line for each token, person or session."""
    plain_table(columns, [[_cell(row, column) for column in columns] for row in rows])


def _cell(row: Struct, column: str) -> str:
    """One value of a row as text; numbers are Unix seconds."""
    value = getattr(row, column)
    if value is None:
        return {"expires": "never", "collections": "all"}.get(column, "")
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return moment(value) if isinstance(value, int) else str(value)


def moment(seconds: int) -> str:
    """Unix seconds as a date and time."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
