"""Periods as people choose them: usual ones up to today, and the ones before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from deniable_aggregator.documents.describe import when
from deniable_aggregator.queries.epoch_ranges import epoch_range
from deniable_shared.manifest.epochs import epoch_start, period_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.rows import EpochRow

DAY_SECONDS = 86_400
_SPANS = ((7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "12 months"))


@dataclass(frozen=True, slots=True)
class SpanPreset:
    """A usual span: what it is called, and its first and last day or epoch."""

    name: str
    first: str | UnsetType = UNSET
    last: str | UnsetType = UNSET


def span_options(collection: Collection, rows: Sequence[EpochRow], now: float) -> list[SpanPreset]:
    """The newest period of these rows, the last days that are longer than a period, and all."""
    seconds = collection.manifest.epoch_seconds
    made = []
    if rows:
        newest = _bound(collection, rows[-1].epoch)
        made.append(SpanPreset(f"Newest {period_name(seconds)}", newest, newest))
    for days, name in _SPANS:
        if seconds < days * DAY_SECONDS:
            made.append(SpanPreset(name, when((now // DAY_SECONDS - days + 1) * DAY_SECONDS)))
    return [*made, SpanPreset("All")]


def neighbour_spans(
    collection: Collection,
    rows: Sequence[EpochRow],
    first: str | UnsetType,
    last: str | UnsetType,
) -> tuple[SpanPreset | None, SpanPreset | None]:
    """Spans of the same length just before and just after; None where there is no report."""
    if not rows or isinstance(first, UnsetType):
        return None, None
    newest = rows[-1].epoch
    span = epoch_range(first, last, collection.manifest.epoch_seconds)
    end = newest if isinstance(last, UnsetType) else span.last
    length = max(end - span.first + 1, 1)
    earlier = _span(collection, "Earlier", span.first - length, span.first - 1)
    later = _span(collection, "Later", end + 1, end + length)
    return (
        earlier if rows[0].epoch < span.first else None,
        later if end < newest else None,
    )


def day_text(collection: Collection, given: str | UnsetType) -> str:
    """What a field shows of a day or of an epoch's index; empty for none."""
    if isinstance(given, UnsetType):
        return ""
    if not given.isdigit() or len(given) > 10:
        return given
    return when(epoch_start(int(given), collection.manifest.epoch_seconds))[:10]


def _span(collection: Collection, name: str, first: int, last: int) -> SpanPreset:
    return SpanPreset(name, _bound(collection, max(first, 0)), _bound(collection, max(last, 0)))


def _bound(collection: Collection, epoch: int) -> str:
    """An epoch by its day; by its index where a day has several."""
    seconds = collection.manifest.epoch_seconds
    return when(epoch_start(epoch, seconds)) if seconds % DAY_SECONDS == 0 else str(epoch)
