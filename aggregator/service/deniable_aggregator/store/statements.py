"""What the connections of both databases can do: one SQL text, `?` for each parameter.

SQL that stays within what SQLite and PostgreSQL share is written once, for this interface. Rows of
more than one column are read by the names of their columns: a statement or a table that has them in
another order gives the same values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

Item = TypeVar("Item")
Row = dict[str, Any]
"""What to make of a row that has no type of its own."""


class Rows(Protocol):
    """What a statement gives: tuples, read once."""

    @property
    def description(self) -> Sequence[Sequence[Any]] | None:
        """Of each column the name first; None where there are no rows to read."""
        ...

    @property
    def rowcount(self) -> int:
        """Rows changed."""
        ...

    def fetchone(self) -> Any:
        """The next row, or None."""
        ...

    def fetchall(self) -> list[Any]:
        """The rows that are left."""
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
        """One that cannot write."""
        ...


def read_rows(make: Callable[..., Item], rows: Rows) -> Iterator[Item]:
    """`make(column=value, ...)` of each row, read one by one.

    Raises TypeError for a column that `make` does not take or misses.
    """
    names = tuple(column[0] for column in rows.description or ())
    if names == getattr(make, "_fields", None):  # a NamedTuple in the order of the columns
        return map(make._make, rows)  # type: ignore[attr-defined]  # it is a NamedTuple here
    return (make(**dict(zip(names, row, strict=True))) for row in rows)
