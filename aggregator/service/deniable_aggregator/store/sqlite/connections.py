"""Connections to one SQLite file: one writer behind a lock, and one connection for each reader.

Only the writing connection commits and checkpoints. In SQLite 3.7.0 to 3.51.2 two connections that
do so at once can corrupt the database (the WAL-reset bug). The data directory's lock keeps a second
process out.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import StoreError, StoreReplacedError
from deniable_aggregator.store.sqlite.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from deniable_aggregator.store.statements import Statements

WRITER_CACHE_KIB = 32_768
CHECKPOINT_PAGES = 8_000
"""32 MB of log: random ids write the same pages repeatedly, and a longer log merges more writes."""

LOG_LIMIT_BYTES = 67_108_864
BUSY_SECONDS = 10.0
CACHED_STATEMENTS = 256

INDEXED_TABLES = (
    *("collections", "manifests", "cells", "closed_epochs", "expired_epochs"),
    *("log", "key_lists", "charges", "results", "session_records"),
)
"""Tables that assign counts to epochs and collections: they have few rows."""

Factory = type[sqlite3.Connection]


class SqliteConnections:
    """`write()` and `read()` lend a `Database`; `close()` closes all of them."""

    def __init__(self, path: Path, *, factory: Factory = sqlite3.Connection) -> None:
        self._path = path
        self._factory = factory
        self._writing = threading.Lock()
        self._lending = threading.Lock()
        self._idle: list[Database] = []
        self._closed = False
        self._writer = self._open_writer()
        self._file = _identity(path)
        self._changes = self._settled = 0

    @contextmanager
    def write(self) -> Iterator[Database]:
        """A transaction: on disk after the block, or rolled back. Raises StoreError on refusal.

        Raises StoreReplacedError if another file is now at the path: writes to a file without a
        name would be lost.
        """
        self.require_same_file()
        with self._writing, _translate_errors():
            self._writer.execute("begin immediate")
            try:
                yield self._writer
                self._writer.commit()
            except BaseException:
                self._writer.rollback()
                raise

    @contextmanager
    def read(self) -> Iterator[Database]:
        """A read-only connection for this caller alone."""
        with _translate_errors():
            database = self._borrow()
            try:
                yield database
            finally:
                self._give_back(database)

    def require_same_file(self) -> None:
        """Raises StoreReplacedError if the file was removed or replaced after it was opened."""
        if _identity(self._path) != self._file:
            raise StoreReplacedError(
                f"{self._path} was removed or replaced while it was open: put the right one back "
                "and restart the service"
            )

    def checkpoint(self) -> None:
        """Copy the log into the file as far as readers allow, without waiting for them."""
        with self._writing, _translate_errors():
            changes = self._writer.conn.total_changes
            [[_, logged, copied]] = self._writer.execute("pragma wal_checkpoint(passive)")
            if logged == copied:
                self._settled = changes

    def checkpoint_if_idle(self) -> None:
        """Checkpoint once if nothing was written since the last call."""
        changes = self._writer.conn.total_changes
        if changes == self._changes != self._settled:
            self.checkpoint()
        self._changes = changes

    def close(self) -> None:
        """Close all connections; the writer last, because it checkpoints."""
        with self._writing:
            with self._lending:
                self._closed = True
                while self._idle:
                    self._idle.pop().close()
            self._writer.close()

    def _borrow(self) -> Database:
        with self._lending:
            if self._closed:
                raise StoreError("the store is closed")
            if self._idle:
                return self._idle.pop()
        return self._open_reader()

    def _give_back(self, database: Database) -> None:
        with self._lending:
            if not self._closed:
                self._idle.append(database)
                return
        database.close()

    def _open_writer(self) -> Database:
        database = self._connect()
        database.execute("pragma journal_mode = wal")
        database.execute("pragma synchronous = full")
        database.execute(f"pragma cache_size = -{WRITER_CACHE_KIB}")
        database.execute(f"pragma wal_autocheckpoint = {CHECKPOINT_PAGES}")
        database.execute(f"pragma journal_size_limit = {LOG_LIMIT_BYTES}")
        database.execute("pragma foreign_keys = on")
        return database

    def _open_reader(self) -> Database:
        self.require_same_file()  # a reader opens by name; the writer may have another file
        database = self._connect()
        database.execute("pragma query_only = on")
        return database

    def _connect(self) -> Database:
        connection = sqlite3.connect(
            self._path,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            factory=self._factory,
            cached_statements=CACHED_STATEMENTS,
        )
        return Database(connection, execute_plugins=False)


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def read_file(path: Path) -> Iterator[Database]:
    """A read-only connection to a file that a service may have open. Raises StoreError."""
    if not path.is_file():
        raise StoreError(f"there is no database {path}")
    with _translate_errors():
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        with closing(connection):
            yield Database(connection, execute_plugins=False)


def require_intact(db: Statements, where: str, tables: Sequence[str] = INDEXED_TABLES) -> None:
    """Raises StoreError if an index of these tables and its rows contradict each other.

    Counts could then be read for a wrong epoch, or be missed. The check's time grows with the
    number of rows, so only doctor checks tables with a row for each report.
    """
    for table in tables:
        messages = [line for (line,) in db.execute(f"pragma integrity_check({table})")]
        if messages != ["ok"]:
            raise StoreError(
                f"{where} is damaged ({table}: {str(messages[0])[:100]}): "
                "restore a backup with `deniable store restore`"
            )


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"the database refuses: {error}{_remedy(error)}") from error


def _remedy(error: sqlite3.Error) -> str:
    """The remedy for a damaged file; empty for other errors."""
    # It is a plain DatabaseError: SQLITE_CORRUPT and SQLITE_NOTADB have no own class.
    if type(error) is not sqlite3.DatabaseError:
        return ""
    return ": put back a copy of the file or `deniable store restore` a backup into a new directory"
