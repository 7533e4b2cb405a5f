"""The schema of the state file: one migration for each version, never edited afterwards.

* installation   consent, the operator's key list and log as last seen, the uploader's lease
* name           one row a name the app calls: account (shared by a ledger group), ε spent
* course         one row a collection: its keys, the hold settled last, the permanent answer
* manifest       every (collection, version) ever accepted, with its verified body
* verified       SHA-256 of every signed envelope verified, by the keys that were trusted
* outbox         one row a (collection, epoch) ever answered. It is never deleted. Once it is done,
                 only the SHA-256 and the size of its last request are kept
* checksum       one row, over all rows of installation, name, course and outbox: see `checksum`

ε is counted in integer millionths: a manifest's decimals have no more places, so every sum is
exact.

Version 2 moved the keys from names to collections. A collection not answered under version 1 keeps
its key, so a restored and migrated backup of that time tosses the same coin.

Version 3 added the checksum.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from deniable_client._state import checksum, keychain
from deniable_client.errors import ConfigurationError, StorageError

_FIRST = (
    """CREATE TABLE installation (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        consent TEXT NOT NULL,
        forked TEXT,
        keys_version INTEGER NOT NULL,
        keys_envelope BLOB,
        log_size INTEGER NOT NULL,
        log_head TEXT,
        lease_holder BLOB,
        lease_until REAL NOT NULL
    )""",
    "INSERT INTO installation VALUES (1, 'unknown', NULL, 0, NULL, 0, NULL, NULL, 0)",
    """CREATE TABLE name (
        name TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        spent INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
        key BLOB
    )""",
    """CREATE TABLE manifest (
        collection TEXT NOT NULL,
        version INTEGER NOT NULL,
        name TEXT NOT NULL,
        trust BLOB NOT NULL,
        digest BLOB NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (collection, version)
    )""",
    """CREATE TABLE verified (
        envelope BLOB NOT NULL,
        trust BLOB NOT NULL,
        collection TEXT NOT NULL,
        version INTEGER NOT NULL,
        PRIMARY KEY (envelope, trust)
    )""",
    """CREATE TABLE outbox (
        collection TEXT NOT NULL,
        epoch INTEGER NOT NULL,
        manifest_version INTEGER NOT NULL,
        state TEXT NOT NULL,
        report_id BLOB,
        payload BLOB,
        closes_at REAL NOT NULL,
        send_at REAL NOT NULL,
        retry_at REAL NOT NULL DEFAULT 0,
        floor REAL NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        reason TEXT,
        PRIMARY KEY (collection, epoch)
    )""",
    "CREATE INDEX outbox_waiting ON outbox (collection) WHERE payload IS NOT NULL",
)

_SECOND = (
    """CREATE TABLE course (
        collection TEXT PRIMARY KEY,
        key BLOB,
        at INTEGER NOT NULL,
        epoch_key BLOB,
        epoch_at INTEGER,
        first INTEGER,
        joined INTEGER,
        hold INTEGER,
        asked INTEGER,
        tossed INTEGER,
        permanent BLOB
    )""",
    # In version 1 every collection had `repeat = "once"`: hold 0, settled by any answer.
    """INSERT INTO course (collection, key, at, first, hold, asked)
        SELECT m.collection, max(n.key), min(1, count(o.epoch)), min(o.epoch),
            iif(count(o.epoch), 0, NULL), iif(count(o.epoch), 1, NULL)
        FROM manifest m LEFT JOIN name n ON n.name = m.name
            LEFT JOIN outbox o ON o.collection = m.collection
        GROUP BY m.collection""",
    """CREATE TABLE ledger (
        name TEXT PRIMARY KEY,
        account TEXT NOT NULL,
        spent INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0)
    )""",
    "INSERT INTO ledger SELECT name, account, spent FROM name",
    "DROP TABLE name",
    "ALTER TABLE ledger RENAME TO name",
    "ALTER TABLE outbox ADD COLUMN request_digest BLOB",
    "ALTER TABLE outbox ADD COLUMN request_bytes INTEGER",
)


def _part_keys(db: sqlite3.Connection) -> None:
    """Give each collection its own key: one keeps the shared key, the others derive one."""
    rows = db.execute(
        "SELECT collection, key, hold IS NOT NULL FROM course WHERE key IS NOT NULL ORDER BY 3, 1"
    ).fetchall()
    kept: set[bytes] = set()
    for collection, key, _ in rows:
        if key in kept:
            other = keychain.fork(key, collection)
            db.execute("UPDATE course SET key = ? WHERE collection = ?", (other, collection))
        kept.add(key)


def _nothing_more(_db: sqlite3.Connection) -> None:
    return


_Migration = tuple[tuple[str, ...], Callable[[sqlite3.Connection], None]]
_MIGRATIONS: tuple[_Migration, ...] = (
    (_FIRST, _nothing_more),
    (_SECOND, _part_keys),
    (checksum.CREATE, checksum.begin),
)

_OURS = frozenset({"course", "installation", "manifest", "outbox"})

VERSION = len(_MIGRATIONS)
"""The version this code reads and writes, kept in `PRAGMA user_version`."""


def migrate(db: sqlite3.Connection) -> None:
    """Bring the file to VERSION in one transaction. Does nothing if it is there already.

    Raises StorageError if a later version wrote the file or it is damaged, and ConfigurationError
    if it is another program's database.
    """
    if _version(db) == VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        _apply(db, _version(db))  # read again: another process may have just done it
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _apply(db: sqlite3.Connection, version: int) -> None:
    if version > VERSION:
        raise StorageError(
            f"the state file has version {version}, this deniable_client reads up to {VERSION}: "
            "it stays untouched until the app is up to date again",
            permanent=True,
        )
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    if tables & _OURS and version == 0:
        raise checksum.damaged()
    if tables and version == 0:
        raise ConfigurationError(
            "state must name a file of its own: this one is another program's database"
        )
    for statements, finish in _MIGRATIONS[version:]:
        for statement in statements:
            db.execute(statement)
        finish(db)
    db.execute(f"PRAGMA user_version = {VERSION:d}")


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])
