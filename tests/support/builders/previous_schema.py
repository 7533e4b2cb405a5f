"""A database as an earlier program left it, with its rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg

from deniable_aggregator.store import schema

__all__ = ["PREVIOUS", "VERSIONS", "postgres_before", "sqlite_before"]

VERSIONS = tuple(f"{number:04}" for number in range(1, int(schema.HEAD) + 1))
PREVIOUS = VERSIONS[-2]

_VERSION = (
    "CREATE TABLE alembic_version (\n"
    "\tversion_num VARCHAR(32) NOT NULL, \n"
    "\tCONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)\n)"
)
"""As Alembic wrote it, which earlier programs used."""

_TABLES = """
select name from sqlite_master
where type = 'table' and name not like 'sqlite%' and name <> 'alembic_version'"""


def scripts(kind: str, version: str) -> list[str]:
    """The text of each, up to that version."""
    paths = sorted((schema.FOLDER / kind).glob("*.sql"))
    return [path.read_text() for path in paths if path.name[: len(version)] <= version]


def sqlite_before(path: Path, old: Path, version: str = PREVIOUS) -> str:
    """Write it to `old`; its version."""
    with closing(sqlite3.connect(old)) as db:
        db.execute(_VERSION)
        db.execute("insert into alembic_version values (?)", (version,))
        for each in scripts("sqlite", version):
            db.executescript(each)
        db.execute("attach ? as whole", (str(path),))
        for (table,) in db.execute(_TABLES).fetchall():
            names = ", ".join(row[1] for row in db.execute(f"pragma table_info({table})"))
            triggers = db.execute(
                "select name, sql from sqlite_master where type = 'trigger' and tbl_name = ?",
                (table,),
            ).fetchall()
            for name, _ in triggers:
                db.execute(f"drop trigger {name}")
            db.execute(f"insert into {table} ({names}) select {names} from whole.{table}")  # noqa: S608  (the names in it are fixed)
            for _, text in triggers:
                db.execute(text)
        db.commit()
    return version


def postgres_before(address: str, old: str, version: str = PREVIOUS) -> str:
    """Write it to the empty database `old`; its version."""
    with psycopg.connect(address) as source, psycopg.connect(old) as target:
        for each in scripts("postgres", version):
            target.execute(each.encode())
        listed = target.execute(
            "select table_name, string_agg(quote_ident(column_name), ', ') "
            "from information_schema.columns join information_schema.tables "
            "using (table_schema, table_name) "
            "where table_schema = 'public' and table_type = 'BASE TABLE' group by 1"
        ).fetchall()
        target.execute("set session_replication_role = replica")  # no trigger, no foreign key
        for table, names in listed:
            rows = source.execute(f"select {names} from {table}".encode()).fetchall()  # noqa: S608  (the names in it are fixed)
            marks = ", ".join(["%s"] * (names.count(",") + 1))
            insert = f"insert into {table} ({names}) overriding system value values ({marks})"  # noqa: S608  (the names in it are fixed)
            target.cursor().executemany(insert.encode(), rows)
        for (sequence,) in target.execute("select sequencename from pg_sequences").fetchall():
            target.execute(f"select setval('{sequence}', 1000000)".encode())
        target.execute(_VERSION)
        target.execute("insert into alembic_version values (%s)", (version,))
    return version
