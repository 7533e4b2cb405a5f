"""Kills everything that a store does at its k-th statement, on either database."""

from __future__ import annotations

import sqlite3
import threading
from typing import Any

import psycopg

__all__ = ["KillSwitch", "Killed"]


class Killed(BaseException):
    """The process ends here: none of our handlers may run."""


class KillSwitch:
    """Counts this thread's statements from `arm` on. The k-th and all later ones fail."""

    def __init__(self) -> None:
        self.executed = 0
        self._left: int | None = None
        self.thread = threading.get_ident()
        switch = self

        class Sqlite(sqlite3.Connection):
            def execute(self, *arguments: object) -> sqlite3.Cursor:
                switch.count()
                return super().execute(*arguments)  # type: ignore[arg-type]  # as it was called

        class Postgres(psycopg.Connection[Any]):
            def execute(self, query: Any, *arguments: Any, **options: Any) -> psycopg.Cursor[Any]:
                if threading.get_ident() != switch.thread:  # of the pool: it has no statements
                    if switch.dead:
                        raise psycopg.OperationalError("the process has ended")
                elif query:  # the pool asks with an empty one whether the connection lives
                    switch.count()
                return super().execute(query, *arguments, **options)

            def rollback(self) -> None:
                """The dead do not roll back: the server does, when the connection ends."""
                if switch.dead:
                    self.close()
                else:
                    super().rollback()

        self.sqlite = Sqlite
        self.postgres = Postgres

    @property
    def dead(self) -> bool:
        return self._left is not None and self.executed >= self._left

    def arm(self, statements: int | None) -> None:
        """Let `statements` statements through; None lets all through."""
        self.executed, self._left = 0, statements

    def count(self) -> None:
        if self.dead:
            raise Killed
        self.executed += 1
