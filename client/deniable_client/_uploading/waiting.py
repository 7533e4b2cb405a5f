"""Why reports wait, and until when: the explanation in the result of `flush()`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_client._state.outbox import OutboxRow

_LAST_DATE = 253_402_300_799.0  # the end of 9999, the last year that Python can write


@dataclass(frozen=True, slots=True)
class WaitingReports:
    """How many reports wait, until when the next one does (unix seconds), and why.

    `advice` is for the app's developer, `why` for the person, too.
    """

    count: int = 0
    next_due: float | None = None
    why: str = ""
    advice: str = ""


def explain_waiting(
    rows: Sequence[OutboxRow], now: float, paused: str | None, *, failed: bool
) -> WaitingReports:
    """Return the explanation.

    `paused` is the reason if nothing is sent at all, else None. `failed`: whether the last attempt
    to reach the service failed. It may have failed before any report was sent.
    """
    if not rows:
        return WaitingReports()
    count = len(rows)
    reports = "1 report waits" if count == 1 else f"{count:,} reports wait"
    if paused is not None:
        return WaitingReports(count, None, f"{reports}: {paused}")
    in_time = [row for row in rows if not row.late(now)]
    if not in_time:
        return WaitingReports(
            count, None, f"{reports} for a week: by this device's clock it is too late to send them"
        )
    row = min(in_time, key=_due_at)
    due = _due_at(row)
    if due <= now:
        so_far = "the last attempt failed, and " if failed else ""
        return WaitingReports(count, now, f"{reports}: {so_far}the next attempt may be made now")
    reason, advice = _reason(row, now, failed)
    return WaitingReports(
        count, due, f"{reports}, the next one until {format_time(due)}: {reason}", advice
    )


def _due_at(row: OutboxRow) -> float:
    return max(row.send_at, row.retry_at, row.floor)


def _reason(row: OutboxRow, now: float, failed: bool) -> tuple[str, str]:
    """Why it waits, and what the developer can do."""
    if not row.allowed(now):
        return "the service wants it to come later", ""
    if failed or row.retry_at > now:
        return "the last attempt failed", "flush(early=True) tries again now"
    return (
        "the time is random, so that it does not reveal when the answer was recorded",
        "flush(early=True) sends it now",
    )


def format_time(moment: float) -> str:
    """Return a time in unix seconds as people read it."""
    return f"{datetime.fromtimestamp(min(moment, _LAST_DATE), UTC):%Y-%m-%d %H:%M} UTC"
