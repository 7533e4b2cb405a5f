"""Migrates a database file to this program's schema."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEAST_SQLITE = (3, 37, 0)
"""The oldest SQLite with STRICT tables."""

HAS_VERSION = "select 1 from sqlite_master where name = 'alembic_version'"


def migrate(path: Path) -> str | None:
    """Create the file (0600) or upgrade it. Raises StoreError for a database of a newer program.

    Returns the older schema that it replaced, or None.
    """
    _check_library()
    _create(path)
    version = version_of(path)
    schema.refuse_newer(version, str(path))
    if version == schema.HEAD:
        return None
    _upgrade(path)
    return version


def version_of(path: Path) -> str | None:
    """The schema's version; None in an empty file. Raises StoreError if it cannot be read."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            if connection.execute(HAS_VERSION).fetchone() is None:
                return None
            row = connection.execute(schema.READ_VERSION).fetchone()
    except sqlite3.OperationalError as error:
        raise StoreError(
            f"{path} cannot be read: {error}. The user of the service must own the file and be "
            "able to write into its directory"
        ) from error
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"{path} is damaged or is not a SQLite database ({error}): put back a copy of it "
            "or `deniable store restore` a backup into a new directory"
        ) from error
    return None if row is None else str(row[0])


def _check_library() -> None:
    if sqlite3.sqlite_version_info < LEAST_SQLITE:
        wanted = ".".join(map(str, LEAST_SQLITE))
        raise StoreError(f"SQLite must be {wanted} or newer, this is {sqlite3.sqlite_version}")


def _create(path: Path) -> None:
    """Create the file with mode 0600; SQLite gives -wal and -shm the same mode."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(f"{path} cannot be opened: {error.strerror}") from error


def _upgrade(path: Path) -> None:
    try:
        # isolation_level None: Python does not begin or commit by itself, so DDL rolls back, too.
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:

            def run_script(script: str) -> None:
                for statement in split_script(script):
                    connection.execute(statement)

            schema.upgrade("sqlite", lambda: _transaction(connection), run_script=run_script)
    except sqlite3.Error as error:
        raise StoreError(f"the database cannot be upgraded: {error}") from error


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    connection.execute("begin immediate")
    with connection:
        yield connection


def split_script(script: str) -> Iterator[str]:
    """The statements of a script; a trigger's inner semicolons do not end it."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        raise ValueError(f"the script ends inside a statement: {pending.strip()[:80]!r}")
