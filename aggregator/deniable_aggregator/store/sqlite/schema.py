"""Brings a database file to this program's schema; Alembic loads only when there is work to do."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from deniable_aggregator.errors import StoreError
from deniable_aggregator.store import schema

LEAST_SQLITE = (3, 37, 0)
"""STRICT tables."""


def migrate(path: Path) -> str | None:
    """Create the file (0600) or upgrade it. Raises StoreError for a database of a newer program.

    Returns the older schema that this call has replaced; None where it replaced none.
    """
    _check_library()
    _create(path)
    revision = revision_of(path)
    schema.refuse_newer(revision, str(path))
    if revision == schema.HEAD:
        return None
    _upgrade(path)
    return revision


def revision_of(path: Path) -> str | None:
    """The schema's revision; None in an empty file."""
    with closing(sqlite3.connect(path)) as connection:
        try:
            row = connection.execute("select version_num from alembic_version").fetchone()
        except sqlite3.OperationalError:
            return None
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{path} is damaged or is not a SQLite database ({error}): put back a copy of it "
                "or `deniable restore` a backup into a new directory"
            ) from error
    return None if row is None else str(row[0])


def _check_library() -> None:
    if sqlite3.sqlite_version_info < LEAST_SQLITE:
        wanted = ".".join(map(str, LEAST_SQLITE))
        raise StoreError(f"SQLite must be {wanted} or newer, this is {sqlite3.sqlite_version}")


def _create(path: Path) -> None:
    """0600; SQLite gives -wal and -shm the mode of the database file."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(f"{path} cannot be opened: {error.strerror}") from error


def _upgrade(path: Path) -> None:
    from sqlalchemy import create_engine, event, pool

    # isolation_level None keeps the driver's hands off transactions: DDL rolls back like the rest.
    engine = create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(path, isolation_level=None),
        poolclass=pool.NullPool,
    )
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("begin immediate"))
    schema.upgrade(engine)
