"""Runs the SQL script of a migration for the database at hand."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from alembic import op

FOLDER = Path(__file__).parent


def run(name: str) -> None:
    """Execute `<database>/<name>.sql` inside Alembic's transaction."""
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        for statement in statements(_read("sqlite", name)):
            connection.exec_driver_sql(statement)
    else:  # PostgreSQL takes a whole script at once
        driver: Any = connection.connection.driver_connection
        driver.execute(_read("postgres", name).encode())


def _read(folder: str, name: str) -> str:
    return (FOLDER / folder / f"{name}.sql").read_text(encoding="utf-8")


def statements(script: str) -> Iterator[str]:
    """SQLite's statements of a script; a trigger's inner semicolons do not end it."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        raise ValueError(f"the script ends inside a statement: {pending.strip()[:80]!r}")
