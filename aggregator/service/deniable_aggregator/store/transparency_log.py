"""The append-only log of manifests, key lists and releases. SQL triggers refuse any change."""

from __future__ import annotations

from typing import NamedTuple

from deniable_aggregator.store.rows import KeyListRow, ManifestRow
from deniable_aggregator.store.statements import Statements, read_rows
from deniable_shared.wire.transparency_log import GENESIS, LOG_PAGE, LogEntry, extend

_HEAD = "select position as size, head from log order by position desc limit 1"
_KEY_LIST = "select version, issued, expires, digest, envelope from key_lists"


class LogHead(NamedTuple):
    """The number of entries of a chain, and its head."""

    size: int
    head: bytes


def append(db: Statements, entry: LogEntry) -> int:
    """Add an entry; returns its position, from 1."""
    size, last = head(db)
    db.execute(
        "insert into log (position, type, body_hash, head) values (?, ?, ?, ?)",
        (size + 1, entry.type, entry.body_hash, extend(last, [entry])),
    )
    return size + 1


def head(db: Statements) -> LogHead:
    """The size and head of the whole log."""
    [*heads] = read_rows(LogHead, db.execute(_HEAD))
    return heads[0] if heads else LogHead(0, GENESIS)


def head_at(db: Statements, size: int) -> bytes | None:
    """The head after `size` entries; None if there are fewer."""
    if size == 0:
        return GENESIS
    rows = db.execute("select head from log where position = ?", (size,)).fetchall()
    return rows[0][0] if rows else None


def entries(db: Statements, first: int) -> list[LogEntry]:
    """At most LOG_PAGE entries from index `first`."""
    rows = db.execute(
        "select type, body_hash from log where position > ? order by position limit ?",
        (first, LOG_PAGE),
    )
    return list(read_rows(LogEntry, rows))


def add_manifest(db: Statements, row: ManifestRow) -> int:
    """Append a version and its log entry; returns the row number of the collection."""
    position = append(db, LogEntry("manifest", row.digest))
    db.execute("insert into collections (id) values (?) on conflict do nothing", (row.collection,))
    [[number]] = db.execute("select number from collections where id = ?", (row.collection,))
    db.execute(
        "insert into manifests (position, collection, version, name, digest, envelope)"
        " values (?, ?, ?, ?, ?, ?)",
        (position, number, row.version, row.name, row.digest, row.envelope),
    )
    return int(number)


def manifests(db: Statements) -> list[ManifestRow]:
    """Every manifest, oldest first."""
    rows = db.execute(
        "select id as collection, version, name, digest, envelope from manifests"
        " join collections on number = collection order by position"
    )
    return list(read_rows(ManifestRow, rows))


def add_key_list(db: Statements, row: KeyListRow) -> None:
    """Append a key list and its log entry."""
    position = append(db, LogEntry("keys", row.digest))
    db.execute(
        "insert into key_lists (version, position, issued, expires, digest, envelope)"
        " values (?, ?, ?, ?, ?, ?)",
        (row.version, position, row.issued, row.expires, row.digest, row.envelope),
    )


def latest_key_list(db: Statements) -> KeyListRow | None:
    """The key list with the highest version."""
    [*rows] = read_rows(KeyListRow, db.execute(f"{_KEY_LIST} order by version desc limit 1"))
    return rows[0] if rows else None


def key_list(db: Statements, version: int) -> KeyListRow | None:
    """The key list of that version."""
    [*rows] = read_rows(KeyListRow, db.execute(f"{_KEY_LIST} where version = ?", (version,)))
    return rows[0] if rows else None
