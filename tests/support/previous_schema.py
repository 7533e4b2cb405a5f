"""A database as the program before this one left it: the scripts but the last, the same rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg

from deniable_aggregator.store import schema
from deniable_aggregator.store.migrations import script

__all__ = ["postgres_before", "sqlite_before"]

_VERSION = "create table alembic_version (version_num varchar(32) not null primary key)"


def scripts(kind: str) -> list[Path]:
    """In order; the last of them leads to today's schema."""
    found = sorted((script.FOLDER / kind).glob("*.sql"))
    assert found[-1].name.startswith(schema.HEAD)
    return found


def sqlite_before(path: Path, old: Path) -> str:
    """Write it to `old`; its revision."""
    *before, _ = scripts("sqlite")
    with closing(sqlite3.connect(old)) as db:
        for each in before:
            db.executescript(each.read_text())
        db.execute("attach ? as whole", (str(path),))
        listed = "select name from sqlite_master where type = 'table' and name not like 'sqlite%'"
        for (table,) in db.execute(listed).fetchall():
            names = ", ".join(row[1] for row in db.execute(f"pragma table_info({table})"))
            triggers = db.execute(
                "select name, sql from sqlite_master where type = 'trigger' and tbl_name = ?",
                (table,),
            ).fetchall()
            for name, _ in triggers:
                db.execute(f"drop trigger {name}")
            db.execute(f"insert into {table} ({names}) select {names} from whole.{table}")  # noqa: S608
            for _, text in triggers:
                db.execute(text)
        db.execute(_VERSION)
        revision = before[-1].name[: len(schema.HEAD)]
        db.execute("insert into alembic_version values (?)", (revision,))
        db.commit()
    return revision


def postgres_before(address: str, old: str) -> str:
    """Write it to the empty database `old`; its revision."""
    *before, _ = scripts("postgres")
    revision = before[-1].name[: len(schema.HEAD)]
    with psycopg.connect(address) as source, psycopg.connect(old) as target:
        for each in before:
            target.execute(each.read_text().encode())
        listed = target.execute(
            "select table_name, string_agg(quote_ident(column_name), ', ') "
            "from information_schema.columns join information_schema.tables "
            "using (table_schema, table_name) "
            "where table_schema = 'public' and table_type = 'BASE TABLE' group by 1"
        ).fetchall()
        target.execute("set session_replication_role = replica")  # no trigger, no foreign key
        for table, names in listed:
            rows = source.execute(f"select {names} from {table}".encode()).fetchall()  # noqa: S608
            marks = ", ".join(["%s"] * (names.count(",") + 1))
            insert = f"insert into {table} ({names}) overriding system value values ({marks})"  # noqa: S608
            target.cursor().executemany(insert.encode(), rows)
        for (sequence,) in target.execute("select sequencename from pg_sequences").fetchall():
            target.execute(f"select setval('{sequence}', 1000000)".encode())
        target.execute(_VERSION)
        target.execute("insert into alembic_version values (%s)", (revision,))
    return revision
