"""The state of one installation: one SQLite file, safe for many threads, processes and forks.

All access goes through `transaction()` (read and write) and `reading()` (single reads). SQLite's
errors become a StorageError, and a transaction that does not finish is rolled back. A file is
checked for damage each time it is opened.

A connection must not survive a fork: SQLite's record of this process's locks would be wrong in the
child. So every file is closed before a fork and opened again on the next use, in parent and child.
An in-memory state is closed in the child: two devices must not share one key.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
import weakref
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from deniable_client._state import checksum, schema, statefile
from deniable_client.errors import ClosedError, StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BUSY_SECONDS = 0.5
_LOOP_BUSY_SECONDS = 0.01
_AUTO_CHECKPOINT_PAGES = 1_000
_CHECKPOINT_PAUSE = 0.02
# All statements are fixed: an unknown table or column means that something else changed the file.
_DAMAGE = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class WriteFailure(NamedTuple):
    """Why a transaction failed. `locked`: only because another process wrote at that time."""

    text: str
    locked: bool


class State:
    """The state file. It is opened on first use, so a disk that is not mounted yet is no error."""

    def __init__(self, state: str | os.PathLike[str]) -> None:
        self.path: str = statefile.locate(state)
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._pid = os.getpid()
        self._hurried = False
        self.closed: bool = False
        self.failure: WriteFailure | None = None
        """Why the last transaction failed; None after one that was committed."""
        self.in_child: tuple[Callable[[], None], ...] = ()
        with _forking:
            _states.add(self)

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """Run BEGIN IMMEDIATE … COMMIT. With `durable`, the data is on the disk afterwards."""
        with self._exclusive_use(), _translated(self.path):
            db = self._ready()
            if durable:
                db.execute("PRAGMA synchronous = FULL")
            try:
                db.execute("BEGIN IMMEDIATE")
                before = db.total_changes
                yield db
                db.execute("COMMIT")
                if db.total_changes > before or (self.failure and self.failure.locked):
                    self.failure = None
            except sqlite3.Error as error:
                self.failure = self._failure(error)
                raise
            finally:
                self._settle(db, durable)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection for single SELECTs."""
        with self._exclusive_use(), _translated(self.path):
            yield self._ready()

    def checkpoint(self, *, patience_seconds: float) -> bool:
        """Move the log into the file and empty it, so that no overwritten key is left.

        Returns False if other processes kept it busy for `patience_seconds`.
        """
        end = time.monotonic() + patience_seconds
        while not self._truncate_log():
            if time.monotonic() >= end:
                return False
            time.sleep(_CHECKPOINT_PAUSE)
        return True

    def close(self) -> None:
        """Close the file. Later calls raise ClosedError."""
        with self._lock:
            self.closed = True
            self._drop()
        with _forking:
            _states.discard(self)

    def erase(self) -> None:
        """Close and delete the file."""
        self.close()
        if self.path != statefile.MEMORY:
            with suppress(OSError):
                statefile.remove(self.path)

    def before_fork(self) -> None:
        """Wait until no thread uses the file, and close it."""
        self._lock.acquire()
        if self.path != statefile.MEMORY:
            self._drop()

    def after_fork(self, *, child: bool) -> None:
        """Let threads use the file again."""
        if child:
            self.closed = self.closed or self.path == statefile.MEMORY
            for renew in self.in_child:
                renew()
        self._lock.release()

    @contextmanager
    def _exclusive_use(self) -> Iterator[None]:
        """Let one thread in at a time. An event loop waits only briefly, for its other tasks."""
        patience = _LOOP_BUSY_SECONDS if _in_event_loop() else -1
        if not self._lock.acquire(timeout=patience):
            raise StorageError("another thread is using the state file")
        try:
            yield
        finally:
            self._lock.release()

    def _ready(self) -> sqlite3.Connection:
        """Return the connection, with a busy time-out that suits this thread."""
        db = self._live()
        hurried = _in_event_loop()
        if hurried is not self._hurried:
            busy = _LOOP_BUSY_SECONDS if hurried else _BUSY_SECONDS
            db.execute(f"PRAGMA busy_timeout = {busy * 1000:.0f}")
            # A checkpoint waits for the disk, which an event loop must not.
            db.execute(f"PRAGMA wal_autocheckpoint = {0 if hurried else _AUTO_CHECKPOINT_PAGES}")
            self._hurried = hurried
        return db

    def _live(self) -> sqlite3.Connection:
        if self.closed:
            raise ClosedError
        if self._db is None:
            self._db = self._open()
        elif self._pid != os.getpid():
            raise StorageError(
                "this process was forked without Python's knowledge: "
                "make the Client after the fork",
                permanent=True,
            )
        return self._db

    def _open(self) -> sqlite3.Connection:
        with _forking:  # creating closes a descriptor, which would drop another connection's locks
            db = statefile.connect(self.path, busy_seconds=_BUSY_SECONDS)
        try:
            checksum.register(db)
            schema.migrate(db)
            checksum.check(db)
        except BaseException:
            db.close()
            raise
        self._pid = os.getpid()
        self._hurried = False
        return db

    def _failure(self, error: sqlite3.Error) -> WriteFailure:
        """Describe the error. The error itself holds frames, and with them the person's value."""
        text = f"the state file {self.path} cannot be written: {error}"
        return WriteFailure(text, _primary_code(error) == sqlite3.SQLITE_BUSY)

    def _settle(self, db: sqlite3.Connection, durable: bool) -> None:
        try:
            if db.in_transaction:
                db.execute("ROLLBACK")
            if durable:
                db.execute("PRAGMA synchronous = NORMAL")
        except BaseException as error:  # an open transaction would block all other processes
            self.closed = self.closed or self.path == statefile.MEMORY
            self._drop()
            if not isinstance(error, sqlite3.Error):
                raise

    def _truncate_log(self) -> bool:
        with self._lock, _translated(self.path):
            db = self._live()
            db.execute("PRAGMA busy_timeout = 0")
            try:
                busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            except sqlite3.OperationalError:
                busy = True
            finally:
                busy_seconds = _LOOP_BUSY_SECONDS if self._hurried else _BUSY_SECONDS
                db.execute(f"PRAGMA busy_timeout = {busy_seconds * 1000:.0f}")
            return not busy

    def _drop(self) -> None:
        if self._db is not None:
            with suppress(sqlite3.Error):
                self._db.close()
            self._db = None


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        if _primary_code(error) in _DAMAGE:
            raise checksum.damaged() from error
        raise StorageError(f"the state file {path} is not usable now: {error}") from error
    except sqlite3.Error as error:
        if _primary_code(error) in _DAMAGE:
            raise checksum.damaged() from error
        raise StorageError(f"the state file cannot be used: {error}", permanent=True) from error
    except UnicodeDecodeError as error:  # SQLite's message quotes a name that is no UTF-8
        raise checksum.damaged() from error


def _primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's primary error code.

    Python itself raises without a code for a text that is no UTF-8.
    """
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


# A fork copies the whole process, so the list of files to close before it is global.
_states: weakref.WeakSet[State] = weakref.WeakSet()
_forking = threading.Lock()
_one_fork = threading.Lock()
_in_fork: list[State] = []


def _in_event_loop() -> bool:
    """Return whether asyncio, if it is loaded, runs in this thread."""
    asyncio = sys.modules.get("asyncio.events")
    if asyncio is None:
        return False
    return asyncio._get_running_loop() is not None  # noqa: SLF001  (the public one raises for none)


def _before_fork() -> None:
    _one_fork.acquire()
    with _forking:
        _in_fork.extend(_states)
    for state in _in_fork:
        state.before_fork()
    _forking.acquire()


def _after_fork(*, child: bool) -> None:
    _forking.release()
    for state in reversed(_in_fork):
        state.after_fork(child=child)
    _in_fork.clear()
    _one_fork.release()


if hasattr(os, "register_at_fork"):  # pragma: no branch - Windows has no fork
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(child=False),
        after_in_child=lambda: _after_fork(child=True),
    )
