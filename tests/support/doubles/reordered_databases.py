"""Databases whose columns and rows come in another order."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from deniable_client._state import checksum

__all__ = ["ReversingConnection", "ReversingRow", "reverse_dump", "reverse_file", "reverse_state"]

_CREATED = re.compile(r"\((?P<inside>.*)\)(?P<after>[^()]*)$", re.DOTALL)
_IN_DUMP = re.compile(r"^(CREATE TABLE \S+ \(\n)(.*?)(\n\))", re.DOTALL | re.MULTILINE)
_CONSTRAINTS = ("primary key", "unique", "check", "foreign key", "constraint")


def reverse_file(path: Path) -> None:
    """Rebuild every table of a SQLite file with the last column first; rows and rules stay."""
    old = path.with_name(f"{path.name}.old")
    path.rename(old)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        checksum.register(db)
        db.execute("attach ? as old", (str(old),))
        made = db.execute(
            "select type, name, sql from old.sqlite_master where sql is not null "
            "and name not like 'sqlite_%' order by type = 'trigger', type = 'index', rowid"
        ).fetchall()
        version = db.execute("pragma old.user_version").fetchone()[0]
        for kind, name, sql in made:
            db.execute(_reversed(sql) if kind == "table" else sql)
            if kind == "table":
                _copy(db, name)
        db.execute(f"pragma user_version = {version}")
    old.unlink()


def reverse_state(path: Path) -> None:
    """The same with a client's state file, whose checksum is over the schema, too."""
    reverse_file(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.row_factory = sqlite3.Row
        checksum.register(db)
        db.execute("delete from checksum")
        checksum.begin(db)


def reverse_dump(sql: str) -> str:
    """The same in the text of a PostgreSQL database, whose inserts name their columns."""
    return _IN_DUMP.sub(lambda found: found[1] + _turned(found[2]) + found[3], sql)


def _turned(lines: str) -> str:
    return ",\n".join(reversed(lines.split(",\n")))


def _reversed(sql: str) -> str:
    found = _CREATED.search(sql)
    assert found is not None, sql
    parts = [" ".join(part.split()) for part in _parts(found["inside"])]
    rules = [part for part in parts if part.lower().startswith(_CONSTRAINTS)]
    columns = [part for part in parts if part not in rules][::-1]
    if "without rowid" in found["after"]:
        columns.sort(key=lambda column: _place_in_key(column, rules))
    return f"{sql[: found.start()]}({', '.join([*columns, *rules])}){found['after']}"


def _place_in_key(column: str, rules: list[str]) -> int:
    """The integrity check of SQLite before 3.42 wants the key's columns first in such a table."""
    [key] = [rule for rule in rules if rule.lower().startswith("primary key")] or [column]
    names = re.findall(r"\w+", key.partition("(")[2]) if key != column else []
    name = column.split()[0]
    if "primary key" in column.lower():
        return -1
    return names.index(name) if name in names else len(names)


def _parts(inside: str) -> Iterator[str]:
    """What the outermost commas separate."""
    depth, start = 0, 0
    for place, sign in enumerate(inside):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            yield inside[start:place]
            start = place + 1
    yield inside[start:]


def _copy(db: sqlite3.Connection, name: str) -> None:
    names = ", ".join(row[1] for row in db.execute(f"pragma old.table_info({name})"))
    db.execute(f"insert into {name} ({names}) select {names} from old.{name}")  # noqa: S608  (the names in it are fixed)


class ReversingCursor(sqlite3.Cursor):
    """Gives the last column of every statement first; a pragma's stay, SQLite orders them."""

    _turns = True

    def execute(self, sql: str, *parameters: Any) -> ReversingCursor:
        self._turns = not sql.lstrip().lower().startswith("pragma")
        super().execute(sql, *parameters)
        return self

    @property
    def description(self) -> Any:
        actual = sqlite3.Cursor.description.__get__(self)
        return actual[::-1] if actual and self._turns else actual

    def fetchone(self) -> Any:
        return self._turned(super().fetchone())

    def fetchall(self) -> list[Any]:
        return [self._turned(row) for row in super().fetchall()]

    def __next__(self) -> Any:
        return self._turned(super().__next__())

    def _turned(self, row: Any) -> Any:
        return row[::-1] if row and self._turns else row


class ReversingConnection(sqlite3.Connection):
    """Every statement of it names its columns in another order, as it were."""

    def execute(self, sql: str, *parameters: Any) -> ReversingCursor:
        return self.cursor(ReversingCursor).execute(sql, *parameters)


class ReversingRow(sqlite3.Row):
    """Has its last column first for those who count.

    Slices stay, for the one list that fields order.
    """

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int):
            return tuple(super().__iter__())[::-1][key]
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(tuple(super().__iter__())[::-1])

    def keys(self) -> list[str]:
        return super().keys()[::-1]
