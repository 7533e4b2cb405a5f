"""The answer of a collection in one line of a list: what its page says first, and how it changed.

The newest closed epochs are read, so that a line says the same until the next one closes. Until
then it is kept: their counts are frozen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from msgspec import structs

from deniable_aggregator.base.errors import DamagedError
from deniable_aggregator.queries.estimates import estimates
from deniable_aggregator.queries.labels import MEAN, MEDIAN, label_series
from deniable_aggregator.queries.pooled_tallies import readable_rows
from deniable_aggregator.web.application import service
from deniable_aggregator.web.dashboard import svg
from deniable_aggregator.web.dashboard.answer_tiles import answer_tiles
from deniable_aggregator.web.dashboard.query_args import CollectionArguments, estimates_arguments
from deniable_gateway.problem import Problem
from deniable_shared.domains import Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.documents.estimate_arguments import EstimatesArguments
    from deniable_aggregator.documents.estimates import EstimatesDocument
    from deniable_aggregator.operations.service import Service
    from deniable_aggregator.store.rows import EpochRow
    from deniable_aggregator.web.dashboard.answer_tiles import AnswerTile

EPOCHS = 30
MOST_CELLS = 4_096
"""Of a wider tally no line is made: a list has many lines."""

MOST_KEPT = 1_000
"""Lines; after so many the keeping begins again."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The first tile of the page, how many epochs it is of, and its line; None for no line."""

    tile: AnswerTile
    epochs: int
    so_far: bool
    trend: svg.Band | None


_KEPT: WeakKeyDictionary[Service, dict[object, Headline | None]] = WeakKeyDictionary()
"""By service, then by collection, manifest and closed epochs with their n."""


def headline_of(collection: Collection, rows: Sequence[EpochRow]) -> Headline | None:
    """None where nothing may be read yet, counts are damaged, or it takes too long."""
    if isinstance(collection.manifest.domain, Text) or collection.mechanism.tally_size > MOST_CELLS:
        return None
    window = _newest(collection, rows)
    if not window or any(row.damage for row in rows):
        return None
    if any(row.closed_at is None for row in window):
        return _computed(collection, window)
    epochs = tuple((row.epoch, row.n) for row in window)
    return _kept(collection, window, (collection.id, collection.manifest.version, epochs))


def _kept(collection: Collection, window: Sequence[EpochRow], key: object) -> Headline | None:
    """From an earlier look, else computed and kept, unless there is nothing or more may come."""
    kept = _KEPT.setdefault(service(), {})
    headline = kept.get(key) or _computed(collection, window)
    if headline is not None and not headline.so_far:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        kept[key] = headline
    return headline


def _computed(collection: Collection, window: Sequence[EpochRow]) -> Headline | None:
    arguments = structs.replace(
        estimates_arguments(collection, CollectionArguments(show="raw")),
        first=str(window[0].epoch),
        last=str(window[-1].epoch),
    )
    try:
        document = estimates(service().store, collection, arguments)
    except (Problem, DamagedError):
        return None
    tiles = answer_tiles(collection, document)
    if not tiles:
        return None
    trend = _trend(collection, arguments, _first_label(document))
    return Headline(tiles[0], len(document.epochs), document.provisional, trend)


def _newest(collection: Collection, rows: Sequence[EpochRow]) -> Sequence[EpochRow]:
    """Closed ones; the open one only where no other is."""
    readable = readable_rows(collection, rows)
    return [row for row in readable if row.closed_at is not None][-EPOCHS:] or readable[-EPOCHS:]


def _first_label(document: EstimatesDocument) -> str:
    """What the first tile is about."""
    names = [row.name for row in document.quantities if row.name in (MEAN, MEDIAN)]
    if names:
        return names[0]
    return max(document.estimates, key=lambda row: row.frequency or 0.0).label


def _trend(collection: Collection, arguments: EstimatesArguments, label: str) -> svg.Band | None:
    try:
        series = label_series(service().store, collection, arguments, labels=[label])
    except Problem:  # no epoch has enough reports by itself
        return None
    points = {
        epoch: svg.Interval(point.value, point.lower, point.upper)
        for epoch, point in zip(series.epochs, series.lines[label], strict=True)
        if point.value is not None and point.lower is not None and point.upper is not None
    }
    return _band(points) if len(points) > 1 else None


def _band(points: Mapping[int, svg.Interval]) -> svg.Band:
    """As high as its intervals reach: what looks like a change is one only outside the band."""
    low = min(point.lower for point in points.values())
    high = max(point.upper for point in points.values())
    high = high if high > low else low + 1.0
    return svg.band_over(svg.Axis(low, high, high - low), points)
