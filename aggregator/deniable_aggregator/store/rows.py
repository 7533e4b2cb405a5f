"""Rows of a database by the names of their columns, whichever driver gives them.

A statement that names its columns in another order, or a table that has them in another order,
then gives the same values. A column that is missing or one too many is a TypeError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

__all__ = ["Cursor", "Row", "named"]

Made = TypeVar("Made")
Row = dict[str, Any]
"""What to make of a row that has no type of its own."""


class Cursor(Protocol):
    """A statement's result, as the drivers of Python give it (PEP 249)."""

    @property
    def description(self) -> Sequence[Sequence[Any]] | None:
        """Of each column the name first; None where the statement gives no rows."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


def named(make: Callable[..., Made], rows: Cursor) -> Iterator[Made]:
    """`make(column=value, ...)` of each row, read as it is needed."""
    names = [column[0] for column in rows.description or ()]
    return (make(**dict(zip(names, row, strict=True))) for row in rows)
