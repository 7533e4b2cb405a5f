"""Epochs as people choose them: days, and a few usual spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import UNSET, UnsetType

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.queries.pooled_tallies import readable_rows
from deniable_aggregator.store.protocols import Reports
from deniable_aggregator.web.dashboard.formatting import when
from deniable_shared.manifest.epochs import epoch_start

DAY_SECONDS = 86_400
_DAYS = (7, 30, 90)


@dataclass(frozen=True, slots=True)
class SpanPreset:
    """A usual span: what it is called, and its first and last day or epoch."""

    name: str
    first: str | UnsetType = UNSET
    last: str | UnsetType = UNSET


def span_options(collection: Collection, store: Reports, now: float) -> Sequence[SpanPreset]:
    """All, the newest epoch that may be read, and the last days that make sense."""
    rows = readable_rows(collection, store.epochs(collection.id))
    made = [SpanPreset("All")]
    if not rows:
        return made
    newest, seconds = rows[-1].epoch, collection.manifest.epoch_seconds
    made.append(SpanPreset("Newest epoch", str(newest), str(newest)))
    span = now - epoch_start(rows[0].epoch, seconds)
    for days in _DAYS:
        if seconds < days * DAY_SECONDS < span:
            first = (now // DAY_SECONDS - days + 1) * DAY_SECONDS
            made.append(SpanPreset(f"{days} days", when(first)))
    return made


def day_text(collection: Collection, given: str | UnsetType) -> str:
    """What a date field shows of a day or of an epoch's index; empty for none."""
    if isinstance(given, UnsetType):
        return ""
    if "-" in given:
        return given
    return when(epoch_start(int(given), collection.manifest.epoch_seconds))[:10]
