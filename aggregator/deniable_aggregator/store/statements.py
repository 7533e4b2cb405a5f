"""What the connections of both databases can do: one SQL text, `?` for each parameter.

SQL that stays within what SQLite and PostgreSQL share is written once, for this interface.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

__all__ = ["Connections", "Rows", "Statements"]


class Rows(Protocol):
    """What a statement gives: tuples, read once."""

    @property
    def rowcount(self) -> int:
        """Rows changed."""
        ...

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Statements(Protocol):
    """A connection inside a transaction."""

    def execute(self, sql: str, parameters: Sequence[object] = ...) -> Rows: ...


class Connections(Protocol):
    """Lends connections, each to one thread."""

    def write(self) -> AbstractContextManager[Statements]:
        """A transaction, one at a time over all threads and processes; durable after the block."""
        ...

    def read(self) -> AbstractContextManager[Statements]:
        """One that cannot write."""
        ...
