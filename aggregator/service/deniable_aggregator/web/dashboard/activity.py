"""What comes in for a collection, as far as it may be looked at, and what needs somebody's eye.

Only numbers of reports an epoch are read, never a tally. Where only releases may be read nothing
here depends on a report; where only closed epochs may be, nothing depends on an open one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from deniable_aggregator.queries.pooled_tallies import readable_rows
from deniable_shared.manifest.epochs import closes_at, day_start, epoch_at, epoch_end

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.rows import EpochRow

DAY_SECONDS = 86_400
RECENT = 30
"""Epochs in the small picture."""

ENDS_SOON_DAYS = 14
LATE_SECONDS = 600
"""Epochs close within seconds after their grace, where the housekeeping runs."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Reports that may be counted out loud; None for what may not be told."""

    today: int | None
    reports: int | None
    recent: tuple[int, ...]
    late_seconds: float
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing to look into; `collection` is an id."""

    collection: str
    name: str
    text: str
    bad: bool = False


def activity_of(collection: Collection, rows: Sequence[EpochRow], now: float) -> Activity:
    """Of the rows the store has for the collection."""
    manifest = collection.manifest
    seen = readable_rows(collection, rows)
    if manifest.read == "releases":
        return Activity(None, None, (), 0.0)
    if any(row.damage for row in rows):
        return Activity(None, None, (), _late_seconds(collection, rows, now), damaged=True)
    reports = sum(row.n for row in seen)
    current = epoch_at(now, manifest.epoch_seconds)
    by_epoch = {row.epoch: row.n for row in seen}
    newest = current if manifest.read == "live" else max(by_epoch, default=current)
    recent = tuple(by_epoch.get(epoch, 0) for epoch in range(newest - RECENT + 1, newest + 1))
    if manifest.read != "live":
        return Activity(None, reports, recent, 0.0)
    first_of_day = now // DAY_SECONDS * DAY_SECONDS
    of_day = [row.n for row in seen if epoch_end(row.epoch, manifest.epoch_seconds) > first_of_day]
    return Activity(sum(of_day), reports, recent, _late_seconds(collection, rows, now))


def alerts(collection: Collection, activity: Activity, now: float) -> Iterator[Alert]:
    """What is wrong, or soon will be."""
    manifest = collection.manifest
    left = day_start(manifest.expires) - now
    if collection.state == "open" and left <= 0:
        yield _alert(collection, f"has expired on {manifest.expires}: devices no longer answer")
    elif collection.state == "open" and left < ENDS_SOON_DAYS * DAY_SECONDS:
        yield _alert(collection, f"takes reports until {manifest.expires}")
    if activity.damaged:
        yield _alert(collection, "has damaged counts: run deniable doctor", bad=True)
    if activity.late_seconds > LATE_SECONDS:
        late = f"an epoch should have closed {activity.late_seconds / 3600:.1f} hours ago"
        yield _alert(collection, f"{late}: is the housekeeping running?", bad=True)


def today(now: float) -> date:
    """The day, UTC."""
    return date.fromordinal(date(1970, 1, 1).toordinal() + int(now // DAY_SECONDS))


def _alert(collection: Collection, text: str, *, bad: bool = False) -> Alert:
    return Alert(collection.id, collection.name, text, bad)


def _late_seconds(collection: Collection, rows: Sequence[EpochRow], now: float) -> float:
    """How long ago the oldest epoch that is still open should have closed."""
    manifest = collection.manifest
    due = [
        closes_at(row.epoch, manifest.epoch_seconds, manifest.grace_seconds)
        for row in rows
        if row.closed_at is None
    ]
    return max(now - min(due), 0.0) if due else 0.0
