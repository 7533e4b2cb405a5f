"""Finds damage in the state file before anything is read from it.

Triggers keep one number: the sum, modulo 2^48, of a checksum of every row behind budget, keys,
answered epochs and queue. The sum no longer matches if a row was changed, added or lost outside
this program. Copies of manifests are not included: they carry a digest and can be fetched again.

The state is checked once each time it is opened, together with SQLite's own check of pages and
indexes. The check finds accidents. It does not protect from a person who may write the file.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from hashlib import blake2b
from types import MappingProxyType
from typing import TYPE_CHECKING

from deniable_client.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_COLUMNS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "installation": (
            *("consent", "forked", "keys_version", "keys_envelope", "log_size", "log_head"),
            *("lease_holder", "lease_until"),
        ),
        "name": ("name", "account", "spent"),
        "course": (
            *("collection", "key", "at", "epoch_key", "epoch_at", "first", "joined", "hold"),
            *("asked", "tossed", "permanent"),
        ),
        "outbox": (
            *("collection", "epoch", "manifest_version", "state", "report_id", "payload"),
            *("closes_at", "send_at", "retry_at", "floor", "attempts", "reason"),
            *("request_digest", "request_bytes"),
        ),
    }
)
_BYTES = 6
_MASK = (1 << 8 * _BYTES) - 1
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"


def _row_expression(table: str, row: str) -> str:
    columns = ", ".join(f"{row}{column}" for column in _COLUMNS[table])
    return f"row_checksum('{table}', {columns})"


def _trigger(table: str, event: str, change: str) -> str:
    update = f"UPDATE checksum SET total = (total {change}) & {_MASK}"  # noqa: S608  (the names in it are fixed)
    return f"CREATE TRIGGER {table}_{event.lower()} AFTER {event} ON {table} BEGIN {update}; END"


def _triggers(table: str) -> tuple[str, ...]:
    old, new = f"- {_row_expression(table, 'OLD.')}", f"+ {_row_expression(table, 'NEW.')}"
    return (
        _trigger(table, "INSERT", new),
        _trigger(table, "UPDATE", f"{old} {new}"),
        _trigger(table, "DELETE", old),
    )


CREATE = (
    "CREATE TABLE checksum (total INTEGER NOT NULL, schema INTEGER NOT NULL)",
    *(statement for table in _COLUMNS for statement in _triggers(table)),
)
"""The statements of the migration to version 3; `begin` comes after them."""


def register(db: sqlite3.Connection) -> None:
    """Register the SQL function that the triggers call."""
    db.execute("PRAGMA trusted_schema = ON")  # some builds of SQLite are compiled with it off
    db.create_function("row_checksum", -1, _row_checksum, deterministic=True)


def begin(db: sqlite3.Connection) -> None:
    """Store the first total, over the present rows and schema."""
    db.execute("INSERT INTO checksum (total, schema) VALUES (?, ?)", (_total(db), _schema(db)))


def check(db: sqlite3.Connection) -> None:
    """Raises a permanent StorageError if the stored total does not match the rows."""
    db.execute("BEGIN")  # one snapshot, as other processes may write
    try:
        if [verdict for (verdict,) in db.execute("PRAGMA integrity_check(1)")] != ["ok"]:
            raise damaged()
        stored = [dict(row) for row in db.execute("SELECT total, schema FROM checksum")]
        if stored != [{"total": _total(db), "schema": _schema(db)}]:
            raise damaged()
    finally:
        with suppress(sqlite3.Error):  # SQLite may have rolled back by itself
            db.execute("ROLLBACK")


def damaged() -> StorageError:
    """Return the error for a damaged state file."""
    return StorageError(
        "the state file is damaged: nothing is recorded or sent, so that no budget and no answer "
        "is used twice. Restore the file from a backup, or delete it and ask for consent again",
        permanent=True,
    )


def _row_checksum(*values: object) -> int:
    # ascii(), unlike repr(), writes the same under every version of Unicode.
    return int.from_bytes(blake2b(ascii(values).encode(), digest_size=_BYTES).digest(), "big")


def _total(db: sqlite3.Connection) -> int:
    sums = (
        db.execute(f"SELECT coalesce(sum({_row_expression(table, '')}), 0) FROM {table}")  # noqa: S608  (the names in it are fixed)
        for table in _COLUMNS
    )
    return sum(int(rows.fetchone()[0]) for rows in sums) & _MASK


def _schema(db: sqlite3.Connection) -> int:
    rows = db.execute(_SCHEMA)
    return _row_checksum(*((row["type"], row["name"], row["tbl_name"], row["sql"]) for row in rows))
