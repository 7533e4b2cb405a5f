"""Database connections that die between any two statements."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from unittest.mock import patch

if TYPE_CHECKING:  # the client is tested without it
    import psycopg

Result = TypeVar("Result")

__all__ = ["Fuse", "Killed", "killable", "killable_postgres", "mortal_clients"]


class Killed(BaseException):
    """The process is gone; nothing that catches Exception may see it."""


@dataclass
class Fuse:
    """Burns down one statement at a time; at zero every later statement fails."""

    left: int | None = None
    after: bool = False

    def light(self, statements: int, *, after: bool) -> None:
        """Die at that statement: before it runs, or when it has run, before any reply."""
        self.left, self.after = statements, after

    def put_out(self) -> None:
        self.left = None

    def burn(self) -> bool:
        """Return whether this statement is the last one."""
        if self.left is None:
            return False
        self.left -= 1
        return self.left < 0


def killable(fuse: Fuse) -> type[sqlite3.Connection]:
    """A connection class whose statements burn the fuse."""

    class Mortal(sqlite3.Connection):
        def execute(self, *arguments: Any) -> sqlite3.Cursor:
            return self._mortally(super().execute, *arguments)

        def executemany(self, *arguments: Any) -> sqlite3.Cursor:
            return self._mortally(super().executemany, *arguments)

        def commit(self) -> None:
            self._mortally(super().commit)

        def _mortally(self, act: Callable[..., Result], *arguments: Any) -> Result:
            if not fuse.burn():
                return act(*arguments)
            fuse.put_out()  # a real kill needs no rollback; this one's must run
            if fuse.after:
                act(*arguments)
            raise Killed

    return Mortal


OURS = ("MainThread", "uploads")
"""The test's own thread, and the one that stores uploads."""


def killable_postgres(fuse: Fuse) -> type[psycopg.Connection[Any]]:
    """The same for PostgreSQL; the pool's own threads and checks do not burn the fuse."""
    import psycopg

    class Mortal(psycopg.Connection[Any]):
        def execute(self, query: Any, *arguments: Any, **options: Any) -> psycopg.Cursor[Any]:
            ours = query and threading.current_thread().name in OURS
            if not ours or not fuse.burn():
                return super().execute(query, *arguments, **options)
            fuse.put_out()
            if fuse.after:
                super().execute(query, *arguments, **options)
            raise Killed

    return Mortal


@contextmanager
def mortal_clients(fuse: Fuse) -> Iterator[None]:
    """Every state file opened in this block burns the fuse."""
    connect = sqlite3.connect

    def mortal(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(
            *arguments, **{"factory": killable(fuse), **options}
        )
        return connection

    with patch("sqlite3.connect", mortal):
        yield
