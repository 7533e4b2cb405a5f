"""The archive: a ZIP of tables as lines of JSON, and a manifest that says what they hash to.

    tables/<name>.jsonl   one array a row; bytes in base64
    manifest.json         format, schema, rows and SHA-256 of each table, heads of ledger and log
    trust                 the operator's public key
    keys.sealed           only if asked for: the files of keys/, under a passphrase

It is made of one snapshot and is the same whichever database it came from. It holds tallies, token
hashes and sessions, so it is written for its owner alone (0600); without the keys nothing in it
opens a report.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import schema
from deniable_aggregator.store.portable.chain_heads import ChainHeads, read_chain_heads
from deniable_aggregator.store.portable.integrity import require_integrity
from deniable_aggregator.store.portable.snapshot import Snapshot, TableDigest
from deniable_aggregator.store.portable.tables import TABLES, Row, Table

SPEC = "deniable/backup/1"
LONGEST_FILE = 1 << 24
_TRUST, _KEYS, _MANIFEST = "trust", "keys.sealed", "manifest.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive says of itself; `created` in unix seconds."""

    schema: str
    created: int
    tables: dict[str, TableDigest]
    ends: ChainHeads
    spec: str = SPEC


@dataclass(frozen=True, slots=True)
class Archive:
    """One that can be read."""

    manifest: Manifest
    trust: bytes
    sealed_keys: bytes | None
    zipped: zipfile.ZipFile

    def rows(self, table: Table) -> Iterator[Row]:
        """In the order they were written. StoreError for a line that is no row of the table."""
        decode = msgspec.json.Decoder(table.row_type).decode
        try:
            with self.zipped.open(_member(table)) as lines:
                for line in lines:
                    yield decode(line)
        except (msgspec.DecodeError, zipfile.BadZipFile, KeyError) as error:
            raise StoreError(f"the archive is damaged in {table.name}: {error}") from error


def archive_path(place: Path, now: float) -> Path:
    """`place`, or in a directory a name that says when."""
    if not place.is_dir():
        return place
    return place / f"deniable-{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}.zip"


def write(
    path: Path, database: Snapshot, *, trust: bytes, sealed_keys: bytes | None, now: float
) -> Manifest:
    """Whole, on disk and 0600, or not at all; StoreError rather than overwrite anything.

    StoreError, too, where the database is damaged: a backup must be one that can be restored.
    """
    if path.exists():
        raise StoreError(f"{path} is there already: choose another name")
    require_integrity(database)
    draft = path.with_name(path.name + ".new")
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as zipped:
                tables = {table.name: _write_table(zipped, table, database) for table in TABLES}
                manifest = Manifest(
                    schema.HEAD, int(now), tables, read_chain_heads(database.statements)
                )
                zipped.writestr(_TRUST, trust)
                if sealed_keys is not None:
                    zipped.writestr(_KEYS, sealed_keys)
                zipped.writestr(_MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename it never replaces
    finally:
        draft.unlink()
    return manifest


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """StoreError for a file that is no archive, or one of another schema."""
    try:
        zipped = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise StoreError(f"{path} is no backup: {error}") from error
    with zipped:
        try:
            manifest = msgspec.json.decode(_read(zipped, _MANIFEST), type=Manifest)
            trust = _read(zipped, _TRUST)
        except (KeyError, msgspec.DecodeError, zipfile.BadZipFile) as error:
            raise StoreError(f"{path} is no backup of ours: {error}") from error
        _require_readable(manifest, path)
        sealed = _read(zipped, _KEYS) if _KEYS in zipped.namelist() else None
        yield Archive(manifest, trust, sealed, zipped)


def _require_readable(manifest: Manifest, path: Path) -> None:
    if manifest.spec != SPEC:
        raise StoreError(f"{path} must be {SPEC}, it is {manifest.spec[:40]!r}")
    if manifest.schema != schema.HEAD:
        raise StoreError(
            f"{path} has schema {manifest.schema[:10]}, this program {schema.HEAD}: restore it "
            "with the deniable-aggregator that wrote it, then run `deniable migrate` with this one"
        )
    if manifest.tables.keys() != {table.name for table in TABLES}:
        raise StoreError(f"{path} must name every table of schema {schema.HEAD}")


def _write_table(zipped: zipfile.ZipFile, table: Table, database: Snapshot) -> TableDigest:
    rows, digest = 0, sha256()
    with zipped.open(_member(table), "w", force_zip64=True) as file:
        for row in database.rows(table):
            line = msgspec.json.encode(row) + b"\n"
            file.write(line)
            digest.update(line)
            rows += 1
    return TableDigest(rows, digest.hexdigest())


def _read(zipped: zipfile.ZipFile, name: str) -> bytes:
    with zipped.open(name) as file:
        data = file.read(LONGEST_FILE + 1)
    if len(data) > LONGEST_FILE:
        raise StoreError(f"{name} in the archive must be at most {LONGEST_FILE:,} bytes long")
    return data


def _member(table: Table) -> str:
    return f"tables/{table.name}.jsonl"
