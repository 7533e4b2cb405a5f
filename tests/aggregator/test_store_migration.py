"""From the schema before the ledger: everything that was there stays, and charging begins."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from deniable_aggregator.store.migrations import script
from deniable_aggregator.store.schema import HEAD
from deniable_aggregator.store.sqlite import schema
from deniable_aggregator.store.sqlite.store import SqliteStore
from support import databases
from support.databases import Sqlite
from support.ledgers import admitted, charge_row, result_row
from support.stores import COLLECTION, EPOCH, arrivals, counted, sums

LEDGER = {"charges", "results", "session_records", "expired_epochs"}
ACCESS = {"users", "sessions", "sign_in_links", "audit"}


def of_the_first_schema(folder: Path) -> Path:
    """What the program before this one left: a collection, a log, reports, a closed epoch."""
    full = databases.fresh("sqlite", folder)
    assert isinstance(full, Sqlite)
    store = full.open()
    store.commit(arrivals(range(5), b"\1\2"), sums)
    store.commit(arrivals(range(3), b"\1\2", epoch=EPOCH + 1), sums)
    store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    store.count_rejections(COLLECTION, {"cannot-open": 2})
    store.close()
    old = sqlite3.connect(folder / "old.db")
    old.executescript((script.FOLDER / "sqlite" / "0001_spine.sql").read_text())
    old.execute("create table alembic_version (version_num varchar(32) not null primary key)")
    old.execute("insert into alembic_version values ('0001')")
    old.execute("attach ? as whole", (str(full.path),))
    for table in tables(old) - {"alembic_version", "closed_epochs"}:
        columns = ", ".join(name for _, name, *_ in old.execute(f"pragma table_info({table})"))
        old.execute(f"insert into {table} select {columns} from whole.{table}")  # noqa: S608
    old.execute(
        "insert into closed_epochs select collection, epoch, closed_at from whole.closed_epochs"
    )
    old.commit()
    old.close()
    return folder / "old.db"


def tables(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("select name from sqlite_master where type = 'table'")}


def content(path: Path) -> list[str]:
    """Every row and every statement of the schema, but for the revision."""
    db = sqlite3.connect(path)
    lines = [line for line in db.iterdump() if "alembic_version" not in line]
    db.close()
    return lines


def test_a_database_of_the_first_schema_keeps_every_row_and_gets_a_ledger(tmp_path: Path) -> None:
    old = of_the_first_schema(tmp_path)
    before = content(old)
    store = SqliteStore(old)
    assert schema.revision_of(old) == HEAD
    assert counted(store) == {EPOCH: (5, [5, 10]), EPOCH + 1: (3, [3, 6])}
    assert store.rejections(COLLECTION) == {"cannot-open": 2}
    assert store.is_closed(COLLECTION, EPOCH)
    [(id, row)] = store.collections().items()
    assert (id, row.closed, row.archived) == (COLLECTION, False, False)
    assert store.charges(COLLECTION) == []
    store.charge(charge_row(1), admitted, audit=None)
    assert store.store_result(result_row(1)).position == 2
    store.close()
    widened = ("tokens", "cells", "closed_epochs", "collections")  # rows are asserted above
    starts = [f"CREATE TABLE {name}" for name in widened]
    starts += [f'INSERT INTO "{name}"' for name in ("cells", "closed_epochs", "collections")]
    starts += [
        "CREATE TRIGGER manifests_are_not_deleted"
    ]  # lets those go that are noted as deleted
    kept = {line for line in before if not line.startswith(tuple(starts))}
    assert kept <= set(content(old))


def test_an_upgraded_database_has_the_schema_of_a_new_one(tmp_path: Path) -> None:
    old = of_the_first_schema(tmp_path)
    schema.migrate(old)
    SqliteStore(tmp_path / "new.db").close()
    upgraded, new = (
        {line for line in content(path) if line.startswith("CREATE")}
        for path in (old, tmp_path / "new.db")
    )
    assert upgraded == new
    db = sqlite3.connect(old)
    assert tables(db) >= LEDGER | ACCESS
    db.close()
