"""The queue of randomized answers. A row is kept for ever; being done or dropped only empties it.

A row's times are unix seconds. `send_at` spreads reports over the epoch, `retry_at` is this
device's own back-off, `floor` is the aggregator's Retry-After, `closes_at` is when the epoch takes
no more reports. A row is late once this device's clock is past `closes_at`; its `send_at` is then
when that was first seen.

A late row is not sent. It is kept for a while all the same, since the clock may have jumped: until
the aggregator's clock is past `closes_at` too, or this one has been for a week.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import sqlite3

__all__ = [
    "MAX_WAITING",
    "MAX_WAITING_HERE",
    "OutboxRow",
    "QueuedReport",
    "drop",
    "drop_closed",
    "drop_collection",
    "finish",
    "judge_late",
    "mark_sending",
    "postpone",
    "read_report",
    "waiting_count",
    "waiting_rows",
    "watch_late",
]

MAX_WAITING = 1_000
"""Most answers that wait: far more than an app ever asks between two uploads."""

MAX_WAITING_HERE = 256
"""Most answers of one collection: no other loses its place to one that is asked every hour."""

LATE_SECONDS = 7 * 86_400.0
"""How long a row stays that is late by this device's clock alone."""

_LONGEST_SECONDS = 12 * 3600 + 1
"""Retry-After and back-off last six hours each: a longer wait was written under another clock."""


class OutboxRow(NamedTuple):
    """When a row may be sent."""

    collection: str
    epoch: int
    attempts: int
    send_at: float
    retry_at: float
    floor: float
    closes_at: float

    @property
    def was_late(self) -> bool:
        """Whether it was noted as late; no row is scheduled after its epoch."""
        return self.send_at > self.closes_at

    def late(self, now: float) -> bool:
        """Whether the epoch takes no more reports, by this device's clock."""
        return self.closes_at < now

    def due(self, now: float) -> bool:
        """Whether the schedule lets it go."""
        return self.send_at <= now and _passed(self.retry_at, now) and self.allowed(now)

    def allowed(self, now: float) -> bool:
        """Whether the aggregator lets it come; the schedule aside."""
        return _passed(self.floor, now)


class QueuedReport(NamedTuple):
    """What is needed to seal and send one row; the same for every attempt."""

    collection: str
    epoch: int
    manifest_version: int
    manifest_digest: bytes
    report_id: bytes
    payload: bytes
    attempts: int


def waiting_rows(db: sqlite3.Connection) -> list[OutboxRow]:
    """Everything that is not sent for good yet."""
    rows = db.execute(
        "SELECT collection, epoch, attempts, send_at, retry_at, floor, closes_at FROM outbox"
        " WHERE payload IS NOT NULL"
    )
    return [OutboxRow(**row) for row in rows]


def waiting_count(db: sqlite3.Connection) -> int:
    """How many rows wait."""
    row = db.execute("SELECT count(*) FROM outbox WHERE payload IS NOT NULL").fetchone()
    return int(row[0])


def read_report(db: sqlite3.Connection, collection: str, epoch: int) -> QueuedReport | None:
    """What there is to seal in a row, or None."""
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
    """Note that the first byte of this request is about to leave; None if it must not any more.

    What is kept of it is its SHA-256 and its size: enough to recognise it, nothing to link it by.
    """
    cursor = db.execute(
        "UPDATE outbox SET state = 'sending', attempts = attempts + 1, request_digest = ?,"
        " request_bytes = ? WHERE collection = ? AND epoch = ? AND payload IS NOT NULL"
        " AND (SELECT consent = 'granted' AND forked IS NULL FROM installation)",
        (sha256(request).digest(), len(request), report.collection, report.epoch),
    )
    return report._replace(attempts=report.attempts + 1) if cursor.rowcount else None


def finish(db: sqlite3.Connection, report: QueuedReport) -> None:
    """The aggregator has it."""
    _empty(db, "done", None, "collection = ? AND epoch = ?", (report.collection, report.epoch))


def drop(db: sqlite3.Connection, report: QueuedReport, reason: str) -> int:
    """The aggregator will never take it; the number of rows dropped."""
    return _empty(
        db, "dropped", reason, "collection = ? AND epoch = ?", (report.collection, report.epoch)
    )


def drop_collection(db: sqlite3.Connection, collection: str, reason: str) -> int:
    """The aggregator takes nothing of this collection; the number of rows dropped."""
    return _empty(db, "dropped", reason, "collection = ?", (collection,))


def drop_closed(db: sqlite3.Connection, now: float) -> int:
    """Drop what is late at that moment; the number of rows."""
    return _empty(db, "dropped", "epoch-closed", "closes_at < ?", (now,))


def watch_late(db: sqlite3.Connection, now: float) -> int:
    """Note since when rows are late; drop those that have been for a week; the number dropped.

    A row that is in time again, or was noted under a clock further ahead, starts again.
    """
    db.execute(
        "UPDATE outbox SET send_at = :now WHERE payload IS NOT NULL"
        " AND iif(closes_at < :now, send_at <= closes_at OR send_at > :now, send_at > closes_at)",
        {"now": now},
    )
    noted = "closes_at < send_at AND send_at < ?"
    return _empty(db, "dropped", "epoch-closed", noted, (now - LATE_SECONDS,))


def judge_late(db: sqlite3.Connection, *, now: float, date: float) -> int:
    """Drop what is late by this clock and by the aggregator's; the number dropped.

    What is late by this clock alone is kept for another week.
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
    """Empty the rows `which` names, a condition written in this module."""
    cursor = db.execute(
        "UPDATE outbox SET state = ?, reason = ?, payload = NULL, report_id = NULL"  # noqa: S608  (the names in it are fixed)
        f" WHERE payload IS NOT NULL AND {which}",
        (state, reason, *values),
    )
    return cursor.rowcount


def _passed(moment: float, now: float) -> bool:
    return moment <= now or moment > now + _LONGEST_SECONDS
