"""How tokens, people and sessions are listed, and the option that limits them to collections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click

from deniable_aggregator.cli.output import plain_table

if TYPE_CHECKING:
    from msgspec import Struct

P = ParamSpec("P")
R = TypeVar("R")


def collection_option(command: Callable[P, R]) -> Callable[P, R]:
    """--collection ID, repeatable."""
    return click.option(
        "--collection",
        "collections",
        multiple=True,
        metavar="ID",
        help="Only this collection, by id or name; may be given again. [default: all]",
    )(command)


def access_table(columns: Sequence[str], rows: Iterable[Struct]) -> None:
    """A line for each token, person or session."""
    plain_table(columns, [[_cell(row, column) for column in columns] for row in rows])


def _cell(row: Struct, column: str) -> str:
    """One value of a row; numbers are moments."""
    value = getattr(row, column)
    if value is None:
        return {"expires": "never", "collections": "all"}.get(column, "")
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return moment(value) if isinstance(value, int) else str(value)


def moment(seconds: int) -> str:
    """Unix seconds as people read them."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
