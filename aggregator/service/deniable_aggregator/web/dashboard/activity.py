"""What comes in for a collection, as far as its `read` allows, and what an operator should look at.

Only numbers of reports an epoch are read, never a tally. Where only releases may be read nothing
here depends on a report; where only closed epochs may be, nothing depends on an open one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from deniable_aggregator.queries.pooled_tallies import readable_rows
from deniable_shared.manifest.epochs import closes_at, day_start, epoch_end

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.rows import EpochRow

DAY_SECONDS = 86_400
ENDS_SOON_DAYS = 14
LATE_SECONDS = 600
"""Epochs close within seconds after their grace, while maintenance runs."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Numbers of reports; None for those that `read` keeps secret."""

    today: int | None
    reports: int | None
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
        return Activity(None, None, 0.0)
    if any(row.damage for row in rows):
        return Activity(None, None, _late_seconds(collection, rows, now), damaged=True)
    reports = sum(row.n for row in seen)
    if manifest.read != "live":
        return Activity(None, reports, 0.0)
    first_of_day = now // DAY_SECONDS * DAY_SECONDS
    of_day = [row.n for row in seen if epoch_end(row.epoch, manifest.epoch_seconds) > first_of_day]
    return Activity(sum(of_day), reports, _late_seconds(collection, rows, now))


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
        late = f"a period should have closed {activity.late_seconds / 3600:.1f} hours ago"
        yield _alert(collection, f"{late}: is maintenance running?", bad=True)


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
