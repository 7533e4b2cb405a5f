"""From each earlier schema to today's: everything that was there stays.

The database in `tests/fixtures/kept_state` was made when Alembic ran the same scripts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.store.postgres import schema as postgres_schema
from deniable_aggregator.store.schema import HEAD
from deniable_aggregator.store.sqlite import schema
from deniable_aggregator.store.sqlite.store import SqliteStore
from support.builders import databases, kept_state
from support.builders.databases import KINDS, Database, Postgres, Sqlite
from support.builders.ledgers import admitted, charge_row, result_row
from support.builders.previous_schema import VERSIONS, postgres_before, sqlite_before
from support.builders.store_reports import COLLECTION, EPOCH, arrivals, counted, sums
from support.tiers import grid

MADE_BY_ALEMBIC = "0010"
"""The schema of the kept database."""

LEDGER = {"charges", "results", "session_records", "expired_epochs"}
ACCESS = {"users", "sessions", "sign_in_links", "audit"}
CHECKSUMS = {
    "cells": "number, seal, body",
    "closed_epochs": "collection, epoch, seal",
    "expired_epochs": "collection, epoch, seal",
    "charges": "position, checksum",
    "session_records": "release, number, checksum",
}
"""What migration 0009 computes, by table."""

SQLITE_COLUMNS = """
select tables.name, group_concat(columns.name, ', ')
from sqlite_master as tables, pragma_table_info(tables.name) as columns
where tables.type = 'table' and tables.name <> 'alembic_version' group by 1"""
POSTGRES_COLUMNS = """
select table_name, string_agg(quote_ident(column_name), ', ' order by ordinal_position)
from information_schema.columns join information_schema.tables using (table_schema, table_name)
where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'alembic_version'
group by 1"""
SQLITE_SCHEMA = "select type, name, tbl_name, sql from sqlite_master order by type, name"
POSTGRES_SCHEMA = """
select table_name, concat_ws(' ', ordinal_position, column_name, data_type,
                             character_maximum_length, is_nullable, is_identity, column_default)
from information_schema.columns where table_schema = 'public'
union all select conrelid::regclass::text, conname || ' ' || pg_get_constraintdef(oid)
from pg_constraint where connamespace = 'public'::regnamespace and contype <> 'n'
union all select tablename, indexdef from pg_indexes where schemaname = 'public'
union all select tgrelid::regclass::text, pg_get_triggerdef(oid) from pg_trigger
where not tgisinternal
union all select viewname, definition from pg_views where schemaname = 'public'
union all select proname, pg_get_functiondef(oid) from pg_proc
where pronamespace = 'public'::regnamespace
order by 1, 2"""


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
    sqlite_before(full.path, folder / "old.db", "0001")
    return folder / "old.db"


def tables(db: sqlite3.Connection) -> set[str]:
    return {name for (name,) in db.execute("select name from sqlite_master where type = 'table'")}


def content(path: Path) -> list[str]:
    """Every row and every statement of the schema, but for the version."""
    db = sqlite3.connect(path)
    lines = [line for line in db.iterdump() if "alembic_version" not in line]
    db.close()
    return lines


def test_a_database_of_the_first_schema_keeps_every_row_and_gets_a_ledger(tmp_path: Path) -> None:
    old = of_the_first_schema(tmp_path)
    before = content(old)
    store = SqliteStore(old)
    assert schema.version_of(old) == HEAD
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
    kept_database = {line for line in before if not line.startswith(tuple(starts))}
    assert kept_database <= set(content(old))


@pytest.mark.slow
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


@pytest.fixture(scope="module", params=KINDS)
def kept_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Database:
    """What an earlier program made with Alembic, upgraded; it is read only."""
    folder = kept_state.copied(tmp_path_factory.mktemp("kept") / "state")
    database: Database
    if request.param == "sqlite":
        database = Sqlite(folder / "sqlite" / "data" / "deniable.db")
    else:
        database = Postgres(kept_state.restored_database(folder))
    assert migrate(database) == MADE_BY_ALEMBIC
    return database


@pytest.fixture
def other_database(kept_database: Database, tmp_path: Path) -> Iterator[Database]:
    """An empty one of the same kind."""
    database = databases.unfilled(
        "sqlite" if isinstance(kept_database, Sqlite) else "postgres", tmp_path
    )
    yield database
    database.delete()


def test_a_new_database_has_the_schema_that_alembic_made(
    kept_database: Database, other_database: Database
) -> None:
    migrate(other_database)
    assert definitions(other_database) == definitions(kept_database)


@pytest.mark.slow
@pytest.mark.parametrize("version", grid(VERSIONS, by_default=[VERSIONS[0], HEAD]))
def test_a_database_of_every_version_keeps_rows_and_gets_one_schema(
    kept_database: Database, other_database: Database, version: str
) -> None:
    age(kept_database, other_database, version)
    columns = stored_columns(other_database)
    before = rows(other_database, columns)
    assert migrate(other_database) == (None if version == HEAD else version)
    assert definitions(other_database) == definitions(kept_database)
    assert rows(other_database, columns) == before
    computed = {table: CHECKSUMS[table] for table in columns.keys() & CHECKSUMS}
    assert rows(other_database, computed) == rows(kept_database, computed)
    assert other_database.execute("select version_num from alembic_version") == [(HEAD,)]


def age(kept_database: Database, old: Database, version: str) -> None:
    if isinstance(kept_database, Sqlite) and isinstance(old, Sqlite):
        sqlite_before(kept_database.path, old.path, version)
    else:
        postgres_before(kept_database.address, old.address, version)


def migrate(database: Database) -> str | None:
    if isinstance(database, Sqlite):
        return schema.migrate(database.path)
    return postgres_schema.migrate(database.address)


def definitions(database: Database) -> list[tuple[object, ...]]:
    """Every table, column, rule, index, trigger, view and function."""
    return database.execute(SQLITE_SCHEMA if isinstance(database, Sqlite) else POSTGRES_SCHEMA)


def stored_columns(database: Database) -> dict[str, str]:
    """Table → its columns, as SQL."""
    query = SQLITE_COLUMNS if isinstance(database, Sqlite) else POSTGRES_COLUMNS
    return {str(table): str(names) for table, names in database.execute(query)}


def rows(database: Database, columns: dict[str, str]) -> dict[str, list[tuple[object, ...]]]:
    """Table → its rows in order, of these columns."""
    return {
        table: sorted(database.execute(f"select {names} from {table}"), key=repr)  # noqa: S608  (the names in it are fixed)
        for table, names in columns.items()
    }
