"""One process runs the maintenance: the one with a lock that lasts as long as a connection does.

A leader that dies, however it dies, loses the connection and with it the lock; the next process
that asks gets it. A leader cut off may believe for a moment that it still leads: what it does is
safe when two do it.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field

import psycopg

from deniable_aggregator.store.postgres.pool import Connection, Lock, connect, translate_errors

_ASK = b"select pg_try_advisory_lock(%s)"


@dataclass(slots=True)
class Leadership:
    """Asked for again and again; given back by `close`."""

    url: str
    _connection: Connection | None = None
    _leads: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> bool:
        """Whether this process leads; StoreError where the database cannot be reached."""
        with self._lock, translate_errors():
            try:
                return self._take()
            except psycopg.Error:
                self._drop()
                raise

    def close(self) -> None:
        """Let another one lead."""
        with self._lock:
            self._drop()

    def _take(self) -> bool:
        if self._connection is None:
            self._connection = connect(self.url)
        if self._leads:
            self._connection.execute(b"select 1")  # raises if the connection is lost
        else:
            [[acquired]] = self._connection.execute(_ASK, (int(Lock.LEADER),)).fetchall()
            self._leads = bool(acquired)
        return self._leads

    def _drop(self) -> None:
        self._leads = False
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None
