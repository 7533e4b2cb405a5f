"""The queue of randomized answers. Rows stay: a row that is done or dropped is only emptied.

A row's times are unix seconds. `send_at` is a random time in the epoch, `retry_at` is this device's
back-off, `floor` is the aggregator's Retry-After, `closes_at` is when the epoch stops taking
reports. A row is late once this device's clock is past `closes_at`. Its `send_at` is then the time
at which this was noticed.

A late row is not sent. Because the clock may have jumped, it is kept until the aggregator's clock
is past `closes_at` too, or this device's clock has been past it for a week.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3

MAX_WAITING = 1_000
"""Most waiting answers: far more than an app records between two uploads."""

MAX_WAITING_HERE = 256
"""Most waiting answers of one collection, so that an hourly one cannot crowd out the others."""

LATE_SECONDS = 7 * 86_400.0
"""Seconds for which a row is kept that is late only by this device's clock."""

_LONGEST_SECONDS = 12 * 3600 + 1
"""Retry-After and back-off last six hours each: a longer wait was written under another clock."""


class OutboxRow(NamedTuple):
    """The times of one row."""

    collection: str
    epoch: int
    attempts: int
    send_at: float
    retry_at: float
    floor: float
    closes_at: float

    @property
    def was_late(self) -> bool:
        """Whether the row was marked as late: no schedule puts `send_at` after the epoch."""
        return self.send_at > self.closes_at

    def late(self, now: float) -> bool:
        """Whether the epoch no longer takes reports, by this device's clock."""
        return self.closes_at < now

    def due(self, now: float) -> bool:
        """Whether the schedule allows sending now."""
        return self.send_at <= now and _passed(self.retry_at, now) and self.allowed(now)

    def allowed(self, now: float) -> bool:
        """Whether the aggregator allows it now; ignores the schedule."""
        return _passed(self.floor, now)


class QueuedReport(NamedTuple):
    """The contents needed to seal and send one row; the same for every attempt."""

    collection: str
    epoch: int
    manifest_version: int
    manifest_digest: bytes
    report_id: bytes
    payload: bytes
    attempts: int


def waiting_rows(db: sqlite3.Connection) -> list[OutboxRow]:
    """Return all rows with a report that may still be sent."""
    rows = db.execute(
        "SELECT collection, epoch, attempts, send_at, retry_at, floor, closes_at FROM outbox"
        " WHERE payload IS NOT NULL"
    )
    return [OutboxRow(**row) for row in rows]


def waiting_count(db: sqlite3.Connection) -> int:
    """Return the number of waiting rows."""
    row = db.execute("SELECT count(*) FROM outbox WHERE payload IS NOT NULL").fetchone()
    return int(row[0])


def read_report(db: sqlite3.Connection, collection: str, epoch: int) -> QueuedReport | None:
    """Return the contents of a row, or None if it is empty."""
    row = db.execute(
        "SELECT o.collection, o.epoch, o.manifest_version, m.digest AS manifest_digest,"
        " o.report_id, o.payload, o.attempts FROM outbox o JOIN manifest m"
        " ON m.collection = o.collection AND m.version = o.manifest_version"
        " WHERE o.collection = ? AND o.epoch = ? AND o.payload IS NOT NULL",
        (collection, epoch),
    ).fetchone()
    return row and QueuedReport(**row)


def mark_sending(
    db: sqlite3.Connection, report: QueuedReport, request: bytes
) -> QueuedReport | None:
    """Note that a request is about to leave. Returns None if it must not leave any more.

    Only its SHA-256 and its size are kept: enough to recognise it, nothing to link it by.
    """
    cursor = db.execute(
        "UPDATE outbox SET state = 'sending', attempts = attempts + 1, request_digest = ?,"
        " request_bytes = ? WHERE collection = ? AND epoch = ? AND payload IS NOT NULL"
        " AND (SELECT consent = 'granted' AND forked IS NULL FROM installation)",
        (sha256(request).digest(), len(request), report.collection, report.epoch),
    )
    return report._replace(attempts=report.attempts + 1) if cursor.rowcount else None


def finish(db: sqlite3.Connection, report: QueuedReport) -> None:
    """Empty a row that the aggregator accepted."""
    _empty(db, "done", None, "collection = ? AND epoch = ?", (report.collection, report.epoch))


def drop(db: sqlite3.Connection, report: QueuedReport, reason: str) -> int:
    """Empty a row that the aggregator rejected permanently. Returns the number of rows."""
    return _empty(
        db, "dropped", reason, "collection = ? AND epoch = ?", (report.collection, report.epoch)
    )


def drop_collection(db: sqlite3.Connection, collection: str, reason: str) -> int:
    """Empty all rows of a collection. Returns the number of rows."""
    return _empty(db, "dropped", reason, "collection = ?", (collection,))


def drop_closed(db: sqlite3.Connection, now: float) -> int:
    """Drop the rows that are late at `now`. Returns the number of rows."""
    return _empty(db, "dropped", "epoch-closed", "closes_at < ?", (now,))


def watch_late(db: sqlite3.Connection, now: float) -> int:
    """Mark late rows and drop those that were late for a week. Returns the number dropped.

    The week starts again if a row is in time again, or was marked under a clock further ahead.
    """
    db.execute(
        "UPDATE outbox SET send_at = :now WHERE payload IS NOT NULL"
        " AND iif(closes_at < :now, send_at <= closes_at OR send_at > :now, send_at > closes_at)",
        {"now": now},
    )
    noted = "closes_at < send_at AND send_at < ?"
    return _empty(db, "dropped", "epoch-closed", noted, (now - LATE_SECONDS,))


def judge_late(db: sqlite3.Connection, *, now: float, date: float) -> int:
    """Drop rows that are late by this clock and by the aggregator's `date`. Returns the number.

    Rows that are late by this clock alone are kept for another week.
    """
    dropped = drop_closed(db, min(now, date))
    db.execute(
        "UPDATE outbox SET send_at = :now WHERE payload IS NOT NULL AND closes_at < :now",
        {"now": now},
    )
    return dropped


def postpone(
    db: sqlite3.Connection, report: QueuedReport, *, retry_at: float, floor: float
) -> None:
    """Keep the row for a later attempt."""
    db.execute(
        "UPDATE outbox SET retry_at = ?, floor = ?"
        " WHERE collection = ? AND epoch = ? AND payload IS NOT NULL",
        (retry_at, floor, report.collection, report.epoch),
    )


def _empty(
    db: sqlite3.Connection, state: str, reason: str | None, which: str, values: tuple[object, ...]
) -> int:
    """Empty the waiting rows for which `which` holds, a condition written in this module."""
    cursor = db.execute(
        "UPDATE outbox SET state = ?, reason = ?, payload = NULL, report_id = NULL"  # noqa: S608  (the names in it are fixed)
        f" WHERE payload IS NOT NULL AND {which}",
        (state, reason, *values),
    )
    return cursor.rowcount


def _passed(moment: float, now: float) -> bool:
    return moment <= now or moment > now + _LONGEST_SECONDS
