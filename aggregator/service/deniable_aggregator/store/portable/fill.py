"""Fill an empty database with the rows of another, in one transaction, and read every one back.

A file is filled beside its place and moved there when it is whole. A server's database is filled
in a transaction: what fails leaves it as empty as it was.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

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
from deniable_aggregator.store.statements import Statements

if TYPE_CHECKING:
    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.store.postgres.pool import Transaction

Check = Callable[[Snapshot], None]
"""Looks at a database that has been filled, before it counts; raises to undo it."""

Rows = Callable[[Table], Iterator[Row]]
_IDENTITIES = {"collections": "number", "cells": "number", "tokens": "rowid", "users": "rowid"}


@dataclass(frozen=True, slots=True)
class Source:
    """Rows to write, and what their tables must hash to once all of them were read."""

    rows: Rows
    digests: Callable[[], Mapping[str, TableDigest]]


def fill(settings: Settings, source: Source, check: Check) -> None:
    """StoreError where the database is not empty, or what was written is not what was read."""
    with _empty(settings) as target:
        for table in TABLES:
            target.insert(table, source.rows(table))
        target.finish()
        written, wanted = digests(target.filled()), source.digests()
        for table in TABLES:
            if written[table.name] != wanted[table.name]:
                raise StoreError(
                    f"{table.name} has {written[table.name].rows:,} rows that are not the "
                    f"{wanted[table.name].rows:,} that should be there: nothing was written"
                )
        check(target.filled())


class _Target(Protocol):
    def insert(self, table: Table, rows: Iterator[Row]) -> None: ...
    def finish(self) -> None: ...
    def filled(self) -> Snapshot: ...


@contextmanager
def _empty(settings: Settings) -> Iterator[_Target]:
    require_portable(settings)
    if not settings.shared:
        with _new_file(settings.database) as target:
            yield target
        return
    with require_driver():
        from deniable_aggregator.store.postgres import schema as postgres_schema
        from deniable_aggregator.store.postgres.pool import write_once
    postgres_schema.migrate(settings.store)
    with write_once(settings.store) as session:
        _require_empty(session)
        yield _PostgresTarget(session)


@contextmanager
def _new_file(path: Path) -> Iterator[_Target]:
    if path.exists():
        raise StoreError(f"{path} is there already: an empty place is needed")
    draft = path.with_name(path.name + ".filling")
    draft.unlink(missing_ok=True)
    try:
        sqlite_schema.migrate(draft)
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.execute("pragma foreign_keys = on")
            connection.execute("begin immediate")
            yield _SqliteTarget(connection)
            connection.execute("commit")
        draft.replace(path)
        _sync(path.parent)
    except sqlite3.Error as error:
        raise StoreError(f"the database refuses: {error}") from error
    finally:
        draft.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class _SqliteTarget:
    connection: sqlite3.Connection

    def insert(self, table: Table, rows: Iterator[Row]) -> None:
        marks = ", ".join("?" * len(table.columns))
        statement = f"insert into {table.name} ({table.names}) values ({marks})"  # noqa: S608
        self.connection.executemany(statement, rows)

    def finish(self) -> None:
        """Numbers go on by themselves."""

    def filled(self) -> Snapshot:
        return SqliteSnapshot(self.connection)


@dataclass(frozen=True, slots=True)
class _PostgresTarget:
    session: Transaction

    def insert(self, table: Table, rows: Iterator[Row]) -> None:
        statement = f"copy {table.name} ({table.names}) from stdin"
        with (
            self.session.connection.cursor() as cursor,
            cursor.copy(statement.encode()) as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def finish(self) -> None:
        """Numbers go on after the largest that was carried."""
        for table, column in _IDENTITIES.items():
            self.session.execute(
                f"select setval(pg_get_serial_sequence('{table}', '{column}'),"  # noqa: S608
                f" coalesce(max({column}), 1), max({column}) is not null) from {table}"
            ).fetchall()

    def filled(self) -> Snapshot:
        return PostgresSnapshot(self.session)


def _require_empty(db: Statements) -> None:
    for name in ("log", "collections", "tokens"):
        if db.execute(f"select 1 from {name} limit 1").fetchall():  # noqa: S608
            raise StoreError("the database is in use already: an empty one is needed")


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
