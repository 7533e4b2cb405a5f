"""The accepted reports of a relay that are not passed on yet, in one SQLite file, durable at once.

A row is a sealed report under its (collection, epoch, id), without address, order or time. Closing
a batch gives its rows a random number in one transaction. After that no report joins or leaves the
batch, even after a crash. The id of a report that was passed on stays until its epoch is over, so
that a device's retry is not a new member of a later batch.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deniable_gateway.errors import QueueError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from deniable_gateway.upload.sealed_uploads import SealedReport

NAME = "relay.db"

_SCHEMA = (
    """create table if not exists reports (
        collection text not null, epoch integer not null, id blob not null,
        manifest_version integer not null, key_id integer not null,
        report blob, batch integer,
        primary key (collection, epoch, id)
    ) strict, without rowid""",
    """create index if not exists waiting on reports
        (collection, epoch, manifest_version, key_id, length(report))
        where report is not null and batch is null""",
    "create index if not exists batched on reports (batch) where batch is not null",
    "create table if not exists counts (what text primary key, n integer not null) strict",
)
_PRAGMAS = ("journal_mode = wal", "synchronous = full", "secure_delete = on")
_GROUPS = """
select collection, epoch, manifest_version, key_id, length(report) as size from reports
where report is not null and batch is null
group by collection, epoch, manifest_version, key_id, length(report) having count(*) >= ?"""
_CLOSE = """
update reports set batch = :batch where report is not null and batch is null
and collection = :collection and epoch = :epoch and manifest_version = :manifest_version
and key_id = :key_id and length(report) = :size"""
_COUNT = """
insert into counts (what, n) values (?, ?) on conflict (what) do update set n = n + excluded.n"""
_COUNTED = "select what, n from counts order by what"


@dataclass(frozen=True, slots=True)
class Batch:
    """A closed batch: what its reports have in common."""

    number: int
    collection: str
    epoch: int
    size: int


class ReportQueue:
    """The queue. Thread-safe; writes are durable when the method returns."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it with mode 0600. Raises QueueError if SQLite cannot use it."""
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self._lock = threading.RLock()
        with _queue_errors():
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._db.row_factory = sqlite3.Row  # rows are read by the names of their columns
            for pragma in _PRAGMAS:
                self._db.execute(f"pragma {pragma}").fetchall()
            for statement in _SCHEMA:
                self._db.execute(statement)

    def accept(self, reports: Sequence[SealedReport]) -> list[bool]:
        """Store the reports with new ids, in one transaction. Returns which were new."""
        with self._writing() as db:
            new = [self._insert(db, each) for each in reports]
            _count(db, "accepted", sum(new))
        return new

    def close_batches(self, min_reports: int) -> None:
        """Make a batch of every group of at least `min_reports` waiting reports."""
        with self._writing() as db:
            for waiting in db.execute(_GROUPS, (min_reports,)).fetchall():
                db.execute(_CLOSE, {"batch": secrets.randbits(62) + 1, **waiting})

    def batches(self) -> list[Batch]:
        """Return the batches that are not passed on yet, by their random number."""
        return [
            Batch(**row)
            for row in self._read(
                "select batch as number, min(collection) as collection, min(epoch) as epoch, "
                "max(length(report)) as size from reports "
                "where batch is not null group by batch order by batch"
            )
        ]

    def report_ids(self, batch_number: int) -> list[bytes]:
        """Return the ids of a batch that are not passed on yet.

        Ids are random, so their order is, too.
        """
        return [
            report_id
            for (report_id,) in self._read("select id from reports where batch = ?", batch_number)
        ]

    def report(self, batch: Batch, report_id: bytes) -> bytes:
        """Return a report as it came."""
        [[report]] = self._read(
            "select report from reports where collection = ? and epoch = ? and id = ?",
            *(batch.collection, batch.epoch, report_id),
        )
        return bytes(report)

    def settle(self, batch: Batch, ids: Sequence[bytes], counts: dict[str, int]) -> None:
        """Delete these reports except for their ids, and add to the counts of outcomes."""
        with self._writing() as db:
            for report_id in ids:
                db.execute(
                    "update reports set report = null, batch = null "
                    "where collection = ? and epoch = ? and id = ?",
                    (batch.collection, batch.epoch, report_id),
                )
            for what, n in sorted(counts.items()):
                _count(db, what, n)

    def epochs(self) -> list[tuple[str, int]]:
        """Return the collections and epochs that have rows."""
        epochs = self._read("select distinct collection, epoch from reports")
        return [(row["collection"], row["epoch"]) for row in epochs]

    def forget(self, collection: str, epoch: int) -> None:
        """Delete an epoch that is over: its ids, and reports that no batch included in time."""
        of_epoch = "from reports where collection = ? and epoch = ? and report is not null"
        with self._writing() as db:
            for what, where in (("too-few", "batch is null"), ("too-late", "batch is not null")):
                query = f"select count(*) {of_epoch} and {where}"
                [[n]] = db.execute(query, (collection, epoch)).fetchall()
                _count(db, what, n)
            db.execute(
                "delete from reports where collection = ? and epoch = ?", (collection, epoch)
            )

    def waiting(self) -> int:
        """Return the number of stored reports."""
        [[n]] = self._read("select count(*) from reports where report is not null")
        return int(n)

    def counts(self) -> dict[str, int]:
        """Return the outcomes of all reports so far."""
        return {row["what"]: row["n"] for row in self._read(_COUNTED)}

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def _insert(self, db: sqlite3.Connection, each: SealedReport) -> bool:
        header = each.report.header
        inserted = db.execute(
            "insert into reports (collection, epoch, id, manifest_version, key_id, report) "
            "values (?, ?, ?, ?, ?, ?) on conflict do nothing",
            (
                *(each.collection, header.epoch, header.report_id, header.manifest_version),
                *(header.key_id, each.report.encode()),
            ),
        )
        return inserted.rowcount == 1

    def _read(self, query: str, *values: object) -> list[Any]:
        with self._lock, _queue_errors():
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _queue_errors():
            self._db.execute("begin immediate")
            try:
                yield self._db
                self._db.execute("commit")
            except BaseException:
                if self._db.in_transaction:
                    self._db.rollback()
                raise


def read_counts(path: Path) -> dict[str, int]:
    """Return the counts in the file of a relay, which may be running.

    Raises QueueError if there is no such file.
    """
    if not path.is_file():
        raise QueueError(f"there is no relay's file {path}")
    with _queue_errors():
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        db.row_factory = sqlite3.Row
        try:
            return {row["what"]: row["n"] for row in db.execute(_COUNTED)}
        finally:
            db.close()


def _count(db: sqlite3.Connection, what: str, n: int) -> None:
    if n:
        db.execute(_COUNT, (what, n))


@contextmanager
def _queue_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise QueueError(f"the relay's file cannot be used: {error}") from error
