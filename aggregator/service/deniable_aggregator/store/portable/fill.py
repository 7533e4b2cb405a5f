"""Fills an empty database with the rows of another, and reads every row back.

A file is filled under another name, and renamed when it is complete. A server's database is filled
in one transaction, so a failure leaves it empty.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.opening import require_portable
from deniable_aggregator.store.portable.snapshot import (
    PostgresSnapshot,
    Snapshot,
    SqliteSnapshot,
    TableDigest,
    digests,
)
from deniable_aggregator.store.portable.tables import TABLES, Row, Table
from deniable_aggregator.store.postgres.opening import require_driver
from deniable_aggregator.store.sqlite import schema as sqlite_schema
from deniable_gateway.directory_sync import sync_directory

if TYPE_CHECKING:
    from pathlib import Path

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.store.statements import Statements

Check = Callable[[Snapshot], None]
"""Checks a filled database before the commit; raises to undo it."""

Rows = Callable[[Table], Iterator[Row]]
_IDENTITIES = {"collections": "number", "cells": "number", "tokens": "rowid", "users": "rowid"}


def fill(settings: Settings, rows: Rows, wanted: Mapping[str, TableDigest], check: Check) -> None:
    """Raises StoreError if the database is not empty, or what was written has not these digests."""
    require_portable(settings)
    with _empty_server(settings.store) if settings.shared else _new_file(settings.database) as new:
        for table in TABLES:
            new.insert(table, rows(table))
        written = digests(new.snapshot())
        for table in TABLES:
            if written[table.name] != wanted[table.name]:
                raise StoreError(
                    f"{table.name} has {written[table.name].rows:,} rows that are not the "
                    f"{wanted[table.name].rows:,} of the backup: nothing was written"
                )
        check(new.snapshot())


@dataclass(frozen=True, slots=True)
class _New:
    """An empty database inside a transaction."""

    insert: Callable[[Table, Iterator[Row]], None]
    snapshot: Callable[[], Snapshot]


@contextmanager
def _new_file(path: Path) -> Iterator[_New]:
    if path.exists():
        raise StoreError(f"{path} exists already: choose an empty place")
    draft = path.with_name(path.name + ".filling")
    draft.unlink(missing_ok=True)
    try:
        sqlite_schema.migrate(draft)
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:

            def insert(table: Table, rows: Iterator[Row]) -> None:
                marks = ", ".join("?" * len(table.columns))
                statement = f"insert into {table.name} ({table.names}) values ({marks})"  # noqa: S608  (the names in it are fixed)
                connection.executemany(statement, rows)

            connection.execute("pragma foreign_keys = on")
            connection.execute("begin immediate")
            yield _New(insert, lambda: SqliteSnapshot(connection))
            connection.execute("commit")
        draft.replace(path)
        sync_directory(path.parent)
    except sqlite3.Error as error:
        raise StoreError(f"the database refuses: {error}") from error
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def _empty_server(url: str) -> Iterator[_New]:
    with require_driver():
        from deniable_aggregator.store.postgres import schema as postgres_schema
        from deniable_aggregator.store.postgres.pool import write_once
    postgres_schema.migrate(url)
    with write_once(url) as session:

        def insert(table: Table, rows: Iterator[Row]) -> None:
            statement = f"copy {table.name} ({table.names}) from stdin".encode()
            with session.connection.cursor() as cursor, cursor.copy(statement) as copy:
                for row in rows:
                    copy.write_row(row)

        _require_empty(session)
        yield _New(insert, lambda: PostgresSnapshot(session))
        for table, column in _IDENTITIES.items():  # new numbers continue after the largest
            session.execute(
                f"select setval(pg_get_serial_sequence('{table}', '{column}'),"  # noqa: S608  (the names in it are fixed)
                f" coalesce(max({column}), 1), max({column}) is not null) from {table}"
            ).fetchall()


def _require_empty(db: Statements) -> None:
    for name in ("log", "collections", "tokens"):
        if db.execute(f"select 1 from {name} limit 1").fetchall():  # noqa: S608  (the names in it are fixed)
            raise StoreError("the database is in use already: choose an empty one")
