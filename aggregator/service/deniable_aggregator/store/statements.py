"""The interface of connections to both databases: one SQL text, `?` for each parameter.

SQL that both SQLite and PostgreSQL accept is written once, for this interface. Rows of more than
one column are read by column name, so the order of columns in a statement or table is irrelevant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

Item = TypeVar("Item")
Row = dict[str, Any]
"""The type of rows that have no type of their own."""


class Rows(Protocol):
    """The result of a statement: tuples that are read once."""

    @property
    def description(self) -> Sequence[Sequence[Any]] | None:
        """One sequence for each column, with its name first; None for statements without rows."""
        ...

    @property
    def rowcount(self) -> int:
        """The number of changed rows."""
        ...

    def fetchone(self) -> Any:
        """The next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """The remaining rows."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Statements(Protocol):
    """A connection inside a transaction."""

    def execute(self, sql: str, parameters: Sequence[object] = ...) -> Rows:
        """The rows of a statement whose parameters are written `?`."""
        ...


class Connections(Protocol):
    """Lends connections, each to one thread."""

    def write(self) -> AbstractContextManager[Statements]:
        """A transaction, one at a time over all threads and processes; durable after the block."""
        ...

    def read(self) -> AbstractContextManager[Statements]:
        """A read-only transaction."""
        ...


def read_rows(make: Callable[..., Item], rows: Rows) -> Iterator[Item]:
    """`make(column=value, ...)` for each row, one by one.

    Raises TypeError if `make` does not take a column or needs another one.
    """
    names = tuple(column[0] for column in rows.description or ())
    if names == getattr(make, "_fields", None):  # a NamedTuple in the order of the columns
        return map(make._make, rows)  # type: ignore[attr-defined]  # it is a NamedTuple here
    return (make(**dict(zip(names, row, strict=True))) for row in rows)
