"""A store on a real database file, and reports to count in it, without keys, manifests or HTTP.

Opening migrates: that is done once a test session, and every database starts as a copy.
"""

from __future__ import annotations

import atexit
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import numpy.typing as npt

from deniable_aggregator.store.contract import Arrival, Cell, ManifestRow, Store
from deniable_aggregator.store.sqlite import SqliteStore

COLLECTION = "settings-4kqz0m"
EPOCH = 20_000
EVERY_EPOCH = (0, 2**32 - 1)


def database(folder: Path, name: str = "store.db") -> Path:
    """The path of a fresh, migrated database with one collection registered."""
    path = folder / name
    shutil.copyfile(_template(), path)
    path.chmod(0o600)
    return path


@cache
def _template() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="deniable-store-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    store = SqliteStore(folder / "store.db")
    register(store, COLLECTION)
    store.close()
    return folder / "store.db"


def manifest_row(collection: str = COLLECTION, version: int = 1) -> ManifestRow:
    """What the store keeps of a manifest; it looks into none of it."""
    name = collection.rpartition("-")[0]
    digest = sha256(f"{collection} {version}".encode()).digest()
    return ManifestRow(collection, version, name, digest, b'{"payload": "..."}')


def register(store: Store, collection: str, version: int = 1) -> None:
    store.add_manifest(manifest_row(collection, version))


def report_id(number: int) -> bytes:
    return sha256(b"%d" % number).digest()[:16]


def arrival(
    number: int,
    payload: bytes = b"\x01",
    *,
    epoch: int = EPOCH,
    version: int = 1,
    collection: str = COLLECTION,
) -> Arrival:
    """Report `number`; its payload is a row of small integers that `sums` adds up."""
    return Arrival(Cell(collection, epoch, version), report_id(number), payload)


def arrivals(
    numbers: Iterable[int], payload: bytes = b"\x01", *, epoch: int = EPOCH
) -> list[Arrival]:
    return [arrival(number, payload, epoch=epoch) for number in numbers]


def sums(cell: Cell, payloads: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """A kernel: one integer of the tally for each byte of the payload."""
    return np.asarray(payloads.sum(axis=0, dtype=np.int64))


def counted(store: Store, collection: str = COLLECTION) -> dict[int, tuple[int, list[int]]]:
    """Epoch → (n, tally), all versions and cohorts together."""
    found: dict[int, tuple[int, list[int]]] = {}
    for row in store.tallies(collection, *EVERY_EPOCH):
        n, tally = found.get(row.cell.epoch, (0, [0] * len(row.tally)))
        added = [a + b for a, b in zip(tally, row.tally.tolist(), strict=True)]
        found[row.cell.epoch] = (n + row.n, added)
    return found


def ids_kept(path: Path) -> int:
    """How many report ids the database file holds."""
    return rows(path, "seen")


def rows(path: Path, table: str) -> int:
    """How many rows a table of the database file has."""
    return len(peek(path, f"select 1 from {table}"))  # noqa: S608


def peek(path: Path, statement: str) -> list[tuple[object, ...]]:
    """Rows straight from the file, beside the store."""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


class Killed(BaseException):
    """The process ends here: no handler of ours may run on."""


class KillSwitch:
    """Ends everything a store does on its connections at its k-th statement, counted from `arm`."""

    def __init__(self) -> None:
        self.executed = 0
        self._left: int | None = None
        switch = self

        class Connection(sqlite3.Connection):
            def execute(self, *arguments: object) -> sqlite3.Cursor:
                switch.count()
                return super().execute(*arguments)  # type: ignore[arg-type]

        self.factory = Connection

    def arm(self, statements: int | None) -> None:
        """Let that many statements through; None lets all."""
        self.executed, self._left = 0, statements

    def count(self) -> None:
        if self._left is not None and self.executed >= self._left:
            raise Killed
        self.executed += 1


def as_left_behind(path: Path, folder: Path) -> Path:
    """What a killed process leaves: database and write-ahead log, copied as they are on disk."""
    folder.mkdir()
    for name in (path.name, f"{path.name}-wal"):
        if (path.parent / name).exists():
            shutil.copyfile(path.parent / name, folder / name)
    return folder / path.name
