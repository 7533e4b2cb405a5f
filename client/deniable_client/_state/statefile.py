"""The state file on disk: makes it private to its owner, opens it, deletes it."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import suppress

from deniable_client.errors import ConfigurationError, StorageError

MEMORY = ":memory:"

_PRIVATE = 0o600
_SUFFIXES = ("", "-wal", "-shm", "-journal")


def locate(state: str | os.PathLike[str]) -> str:
    """Return the path as SQLite will use it.

    Raises ConfigurationError if it can never be a state file.
    """
    given = os.fspath(state)
    if given == MEMORY:
        return MEMORY
    if not given or "\0" in given or not _spelt(given):
        raise ConfigurationError(
            f'state must be a path or ":memory:", got {given!r}: '
            "name a file in the app's own directory"
        )
    # Links are not followed. Without a home directory, ~ stays as it is.
    path = os.path.abspath(os.path.expanduser(given))
    if os.path.isdir(path):
        raise ConfigurationError(
            f"state must name a file, got the directory {given!r}: "
            "add a file name, like /deniable.db"
        )
    return path


def _spelt(given: str) -> bool:
    """Whether the system can write this name down: a lone surrogate is no text."""
    try:
        os.fsencode(given)
    except UnicodeEncodeError:
        return False
    return True


def connect(path: str, *, busy_seconds: float) -> sqlite3.Connection:
    """Return a connection in autocommit mode. The file gets mode 0600, WAL and secure_delete."""
    if path != MEMORY:
        _prepare(path)
    db = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    db.row_factory = sqlite3.Row  # rows are read by the names of their columns
    try:
        db.execute("PRAGMA secure_delete = ON")
        if db.execute("PRAGMA journal_mode").fetchone()[0] not in ("wal", "memory"):
            db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        db.close()
        raise
    return db


def remove(path: str) -> None:
    """Delete the file and SQLite's files next to it."""
    for suffix in _SUFFIXES:
        with suppress(FileNotFoundError):
            os.unlink(path + suffix)


def _prepare(path: str) -> None:
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _create(path)
        _check_private(path)
    except OSError as error:
        raise StorageError(
            f"the state file {path} cannot be made or read: {error.strerror}"
        ) from error


def _create(path: str) -> None:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    try:
        os.close(os.open(path, flags, _PRIVATE))
    except FileExistsError:
        return


def _check_private(path: str) -> None:
    # Never by opening it: closing any descriptor of the file would drop this process's locks on it.
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        raise ConfigurationError("state must name a plain file: links and devices are not followed")
    if not hasattr(os, "getuid"):
        return
    if status.st_uid != os.getuid():
        raise StorageError("the state file belongs to another user", permanent=True)
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.chmod(path, _PRIVATE)
