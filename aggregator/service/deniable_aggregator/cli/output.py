"""What commands print: one JSON document, or tables; everything else goes to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

if TYPE_CHECKING:
    from msgspec import Struct
    from rich.console import Console
    from rich.table import Table

    from deniable_aggregator.client.answers import Answer

PIPE_WIDTH = 100

Document = TypeVar("Document", bound="Struct")


def emit(document: object) -> None:
    """Print the one JSON document."""
    click.echo(json.dumps(document, ensure_ascii=not speaks_unicode(sys.stdout), indent=2))


def show(
    answer: Answer[Document],
    table: Callable[[Document], None],
    *,
    as_json: bool,
    as_csv: bool = False,
) -> None:
    """Print an answer: CSV or JSON as the service sent it, or what `table` makes of it."""
    if as_csv:
        click.echo(answer.body, nl=False)
    elif as_json:
        emit(answer.json())
    else:
        table(answer.document)


def speaks_unicode(stream: TextIO) -> bool:
    """Whether every character can be written as it is."""
    return (stream.encoding or "").lower().startswith("utf")


def say(message: str) -> None:
    """A line for the person at the terminal, on standard error."""
    click.echo(message, err=True)


def console(stream: TextIO | None = None) -> Console:
    """A rich console, on standard output unless told; 100 characters wide in a pipe."""
    from rich.console import Console

    file = stream or sys.stdout
    return Console(file=file, width=None if file.isatty() else PIPE_WIDTH, highlight=False)


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of text."""
    rich_table = table(columns)
    for row in rows:
        rich_table.add_row(*map(escape_markup, row))
    console().print(rich_table)


def table(
    columns: Sequence[str],
    *,
    title: str | None = None,
    numbers: frozenset[str] = frozenset({"n"}),
    whole: frozenset[str] = frozenset(),
) -> Table:
    """An empty table; columns in `numbers` are set to the right, those in `whole` never break."""
    from rich import box
    from rich.table import Table

    rich_table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for column in columns:
        rich_table.add_column(
            escape_markup(column),
            justify="right" if column in numbers else "left",
            no_wrap=column in whole,
            overflow="fold",
        )
    return rich_table


def escape_control_characters(text: str) -> str:
    """Text with control and direction characters, and a mark on what stands before, as escapes."""
    from unicodedata import combining

    return "".join(
        character
        if character.isprintable() and (place or not combining(character))
        else ascii(character)[1:-1]
        for place, character in enumerate(text)
    )


def escape_markup(text: str) -> str:
    """Text that rich prints as it is."""
    from rich.markup import escape

    return escape(text)
