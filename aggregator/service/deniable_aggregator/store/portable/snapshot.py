"""Reads every row of a database in one snapshot, while others keep writing it.

SQLite's snapshot is a read transaction next to the writer's. PostgreSQL's is a transaction at
repeatable read, whose cursor holds a few thousand rows at a time. Batches that wait for the roll-up
are folded while reading, so that both give the same rows.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from heapq import merge
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import checksums, schema
from deniable_aggregator.store.opening import open_read_only, require_portable
from deniable_aggregator.store.portable.tables import TABLES, Row, Table
from deniable_aggregator.store.postgres import rollup
from deniable_aggregator.store.rows import PAGE_SIZE
from deniable_aggregator.store.statements import Statements, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.store.postgres.pool import Transaction

_AT_ONCE = 5_000
_DELTAS = """
select cell, tally_size, deltas.n, places, counts, deltas.seal, deltas.body
from deltas join cells on cells.number = cell"""


@dataclass(frozen=True, slots=True)
class TableDigest:
    """The number of rows of a table, and the SHA-256 of their lines in order."""

    rows: int
    sha256: str


class Snapshot(Protocol):
    """One snapshot of a database."""

    @property
    def statements(self) -> Statements:
        """The transaction that reads the snapshot."""
        ...

    def rows(self, table: Table) -> Iterator[Row]:
        """The rows of a table, in its order."""
        ...


@contextmanager
def snapshot(settings: Settings) -> Iterator[Snapshot]:
    """Whether or not a service has it open. StoreError for another schema than this program's."""
    require_portable(settings)
    with open_read_only(settings) as db:
        if settings.shared:
            from deniable_aggregator.store.postgres.pool import Transaction

            assert isinstance(db, Transaction)  # noqa: S101  (for the type checker)
            rows: Snapshot = PostgresSnapshot(db)
        else:
            db.execute("begin")
            rows = SqliteSnapshot(db)
        _require_schema(rows.statements)
        yield rows


@dataclass(frozen=True, slots=True)
class SqliteSnapshot:
    """A snapshot from a SQLite connection inside a transaction."""

    statements: Statements

    def rows(self, table: Table) -> Iterator[Row]:
        order = table.order.replace("{bytes}", "collate binary")
        return iter(self.statements.execute(_select(table, order)))


class PostgresSnapshot:
    """A snapshot from a PostgreSQL session inside a transaction."""

    def __init__(self, session: Transaction) -> None:
        self._session = session
        self._numbers = count(1)
        self._waiting = _deltas(session)

    @property
    def statements(self) -> Statements:
        return self._session

    def rows(self, table: Table) -> Iterator[Row]:
        if not self._waiting or table.name not in ("cells", "pages"):
            return self._plain(table)
        if table.name == "cells":
            return self._cells(table)
        return self._pages(table)

    def _plain(self, table: Table) -> Iterator[Row]:
        order = table.order.replace("{bytes}", 'collate "C"')
        name = f"rows{next(self._numbers)}"
        with self._session.connection.cursor(name=name) as cursor:
            cursor.itersize = _AT_ONCE
            yield from cursor.execute(_select(table, order).encode(), binary=True)

    def _cells(self, table: Table) -> Iterator[Row]:
        for row in self._plain(table):
            more = self._waiting.get(_number(row))
            yield row if more is None else more.added_to(table, row)

    def _pages(self, table: Table) -> Iterator[Row]:
        """Merge two sorted streams: pages without waiting batches, and pages folded here."""
        left = (row for row in self._plain(table) if _number(row) not in self._waiting)
        folded = (row for cell in sorted(self._waiting) for row in self._folded(cell))
        return merge(left, folded, key=lambda row: (_whole(row[0]), _whole(row[1])))

    def _folded(self, cell: int) -> Iterator[Row]:
        total = self._waiting[cell].tally.copy()
        pages = self._session.execute("select page, counts from pages where cell = ?", (cell,))
        for row in read_rows(dict[str, Any], pages):
            part, start = np.frombuffer(row["counts"], "<i8"), row["page"] * PAGE_SIZE
            total[start : start + len(part)] += part
        for page, start in enumerate(range(0, len(total), PAGE_SIZE)):
            part = total[start : start + PAGE_SIZE]
            if part.any():
                yield cell, page, part.astype("<i8", copy=False).tobytes()


def digests(source: Snapshot) -> dict[str, TableDigest]:
    """The digest of every table, which is read again."""
    return {table.name: _digest(source.rows(table)) for table in TABLES}


def _digest(rows: Iterator[Row]) -> TableDigest:
    number, digest = 0, sha256()
    for row in rows:
        number += 1
        digest.update(msgspec.json.encode(row) + b"\n")
    return TableDigest(number, digest.hexdigest())


@dataclass(slots=True)
class _Backlog:
    tally: np.ndarray[Any, np.dtype[np.int64]]
    n: int = 0
    seal: int = 0
    body: int = 0

    def added_to(self, table: Table, row: Row) -> Row:
        """The cell's row as it will be after the roll-up."""
        columns = dict(zip(table.columns, row, strict=True))
        n, seal, body = (_whole(columns[name]) for name in ("n", "seal", "body"))
        columns["n"] = n + self.n
        columns["seal"] = (seal + self.seal) % checksums.PRIME
        columns["body"] = (body + self.body) & checksums.BODY_MASK
        return tuple(columns.values())


def _deltas(session: Transaction) -> dict[int, _Backlog]:
    """Cell → the batches that the roll-up has not folded into it."""
    backlogs: dict[int, _Backlog] = {}
    with session.connection.cursor(name="deltas") as cursor:
        cursor.itersize = _AT_ONCE
        for row in read_rows(dict[str, Any], cursor.execute(_DELTAS.encode(), binary=True)):
            cell = row["cell"]
            backlog = backlogs.setdefault(cell, _Backlog(np.zeros(row["tally_size"], np.int64)))
            backlog.n += row["n"]
            backlog.seal += row["seal"] - checksums.seal(0, cell)
            backlog.body += row["body"]
            rollup.add_delta(backlog.tally, row["places"], row["counts"])
    return backlogs


def _require_schema(db: Statements) -> None:
    try:
        [[version]] = db.execute(schema.READ_VERSION).fetchall()
    except (StoreError, sqlite3.OperationalError, ValueError):
        raise StoreError("the database is empty: there is nothing to read") from None
    schema.refuse_newer(version, "the database")
    if version != schema.HEAD:
        raise StoreError(
            f"the database has schema {version}, but this program needs {schema.HEAD}: "
            "run `deniable store migrate` first"
        )


def _select(table: Table, order: str) -> str:
    return f"select {table.names} from {table.name} order by {order}"  # noqa: S608  (the names in it are fixed)


def _number(row: Row) -> int:
    return _whole(row[0])


def _whole(value: object) -> int:
    assert isinstance(value, int)  # noqa: S101  (the column's type)
    return value
