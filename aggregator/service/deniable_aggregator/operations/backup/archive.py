"""The archive of a backup: a ZIP of tables as lines of JSON, and a manifest with their hashes.

    tables/<name>.jsonl   one array a row; bytes in base64
    manifest.json         format, schema, rows and SHA-256 of each table, heads of ledger and log
    trust                 the operator's public key
    keys.sealed           only with --keys: the files of keys/, encrypted with a passphrase

It is made from one snapshot and is the same for every database. It contains tallies, token hashes
and sessions, so only its owner can read it (0600). Without the keys it cannot open any report. The
manifest comes last: a truncated archive has none.
"""

from __future__ import annotations

import lzma
import os
import secrets
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import schema
from deniable_aggregator.store.portable.integrity import (
    ChainHeads,
    read_chain_heads,
    require_integrity,
)
from deniable_aggregator.store.portable.snapshot import Snapshot, TableDigest
from deniable_aggregator.store.portable.tables import TABLES, Row, Table
from deniable_gateway.directory_sync import sync_directory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SPEC = "deniable/backup/1"
LONGEST_FILE = 1 << 24
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    *(KeyError, OSError, RuntimeError, ValueError),
)
"""What zipfile raises for a member that is missing, cut off or changed."""

_ADDED_SINCE = {
    "0010": frozenset({"notes", "alerts", "deliveries"}),
    "0011": frozenset({"alerts", "deliveries"}),
}
"""Earlier schemas whose backups can be restored → the tables that they lack, which stay empty."""

_EMPTY = TableDigest(0, sha256().hexdigest())
_TRUST, _KEYS, _MANIFEST = "trust", "keys.sealed", "manifest.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of an archive; `created`: Unix seconds."""

    schema: str
    created: int
    tables: dict[str, TableDigest]
    ends: ChainHeads
    spec: str = SPEC

    @property
    def rows(self) -> int:
        """The number of rows of all tables."""
        return sum(table.rows for table in self.tables.values())


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive that can be read."""

    manifest: Manifest
    trust: bytes
    sealed_keys: bytes | None
    zipped: zipfile.ZipFile

    def rows(self, table: Table) -> Iterator[Row]:
        """The rows, in order. Raises StoreError for a line that is not a row of the table."""
        if table.name in _ADDED_SINCE.get(self.manifest.schema, ()):
            return
        decode = msgspec.json.Decoder(table.row_type).decode
        try:
            with self.zipped.open(_member(table)) as lines:
                for line in lines:
                    yield decode(line)
        except (msgspec.DecodeError, *_DAMAGE) as error:
            raise StoreError(f"the archive is damaged in {table.name}: {error}") from error


def archive_path(place: Path, now: float) -> Path:
    """`place`; if it is a directory, a name in it with date and time.

    Raises StoreError if the directory is missing. A name without `.zip` means a directory: a disk
    that is not mounted must not become a file in its place.
    """
    if place.is_dir():
        return place / f"deniable-{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}.zip"
    folder = place.parent if place.suffix == ".zip" else place
    if not folder.is_dir():
        raise StoreError(
            f"there is no directory {folder}: create it, or mount its disk. "
            "A backup is a new file that ends in .zip, or a directory"
        )
    return place


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """A new file, 0600 and complete on disk, or none. Raises StoreError if `path` exists.

    Each writer has its own draft, so with two writers one writes the complete file.
    """
    taken = StoreError(f"{path} exists already: choose another name")
    if path.exists():
        raise taken
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _publish(draft, path)
    except FileExistsError:
        raise taken from None
    finally:
        draft.unlink(missing_ok=True)
    sync_directory(path.parent)


def _publish(draft: Path, path: Path) -> None:
    """Give the file its name. Raises FileExistsError if another has it."""
    try:
        os.link(draft, path)  # unlike a rename, a link never replaces a file
    except FileExistsError:
        raise
    except OSError:  # a file system without links, as on memory sticks
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        draft.rename(path)


def write(
    stream: IO[bytes],
    database: Snapshot,
    *,
    trust: bytes,
    sealed_keys: bytes | None,
    now: float,
    watch: Callable[[str], object],
) -> Manifest:
    """Write the archive to a file or a pipe. `watch` gets a sentence for each step.

    Raises StoreError if the database is damaged: a backup must be one that can be restored.
    """
    watch("Checking every count")
    require_integrity(database)
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as zipped:
        tables = {}
        for table in TABLES:
            watch(f"Backing up {table.name}")
            tables[table.name] = _write_table(zipped, table, database)
        manifest = Manifest(schema.HEAD, int(now), tables, read_chain_heads(database.statements))
        zipped.writestr(_TRUST, trust)
        if sealed_keys is not None:
            zipped.writestr(_KEYS, sealed_keys)
        zipped.writestr(_MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
    return manifest


@contextmanager
def open_archive(source: Path | IO[bytes]) -> Iterator[Archive]:
    """The archive. Raises StoreError if it is not one, is truncated, or has another schema."""
    name = source if isinstance(source, Path) else "standard input"
    try:
        zipped = zipfile.ZipFile(source)
    except (FileNotFoundError, PermissionError):
        raise
    except _DAMAGE as error:
        raise StoreError(f"{name} is no backup, or was cut off: {error}") from error
    with zipped:
        try:
            manifest = msgspec.json.decode(_read(zipped, _MANIFEST), type=Manifest)
            trust = _read(zipped, _TRUST)
            sealed = _read(zipped, _KEYS) if _KEYS in zipped.namelist() else None
        except (msgspec.DecodeError, *_DAMAGE) as error:
            raise StoreError(f"{name} is no backup, or was cut off: {error}") from error
        _require_readable(manifest, name)
        yield Archive(manifest, trust, sealed, zipped)


def _require_readable(manifest: Manifest, name: object) -> None:
    if manifest.spec != SPEC:
        raise StoreError(f"{name} must be {SPEC}, it is {manifest.spec[:40]!r}")
    lacking = _ADDED_SINCE.get(manifest.schema, frozenset())
    if manifest.schema != schema.HEAD and not lacking:
        raise StoreError(
            f"{name} has schema {manifest.schema[:10]}, this program {schema.HEAD}: restore it "
            "with the deniable-aggregator that wrote it, then run `deniable store migrate` with "
            "this one"
        )
    if manifest.tables.keys() != {table.name for table in TABLES} - lacking:
        raise StoreError(f"{name} must name every table of schema {manifest.schema}")
    manifest.tables.update(dict.fromkeys(lacking, _EMPTY))


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
