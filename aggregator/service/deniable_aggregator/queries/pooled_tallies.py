"""Adds up the tallies of the epochs that `read` allows analysts to read.

Nothing here writes. It reads only tallies and n, so the cost does not grow with the reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.store.stored_tallies import require_possible
from deniable_estimators.inference.hierarchy import HierarchyEstimator
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.store.protocols import Reports
    from deniable_aggregator.store.rows import EpochRow, KeyedTally
    from deniable_estimators.inference.channel import Counts

LAST_EPOCH = 2**32 - 1

INTEGERS_AT_ONCE = 1 << 21
"""Integers of tallies held in memory at a time: 16 MiB."""

MAX_ROWS = 200_000
"""Most epochs × labels of one answer by epoch: about 40 MB of JSON."""


@dataclass(frozen=True, slots=True)
class EpochRange:
    """Epochs first..last, inclusive."""

    first: int = 0
    last: int = LAST_EPOCH

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last <= LAST_EPOCH:
            raise ValueError(
                f"first and last must satisfy 0 ≤ first ≤ last ≤ {LAST_EPOCH}, "
                f"got {self.first} and {self.last}"
            )


@dataclass(frozen=True, slots=True, eq=False)
class PooledTally:
    """The reports of some epochs, added up; `provisional` if one of them is still open."""

    epochs: tuple[int, ...]
    provisional: bool
    n: int
    tally: Counts


def refuse_releases_only(collection: Collection) -> None:
    """Raises read-refused if only central releases may be read."""
    if collection.manifest.read == "releases":
        raise Problem(
            "read-refused",
            f"{collection.id} has read = “releases”: only central releases may be read",
        )


def pooled_tally(store: Reports, collection: Collection, span: EpochRange) -> PooledTally:
    """All readable epochs of the span as one. Raises read-refused or too-few-reports."""
    rows = _readable_in(store, collection, span)
    _require_enough(collection, sum(row.n for row in rows))
    reports = _sum_of_rows(store, collection, rows)
    _require_every_level(collection, reports)
    return reports


def tallies_by_epoch(
    store: Reports, collection: Collection, span: EpochRange
) -> tuple[Iterator[PooledTally], tuple[int, ...]]:
    """Each readable epoch with enough reports, and the epochs that have too few.

    Raises read-refused, too-few-reports (no epoch has enough), invalid-argument (too many epochs).
    """
    rows = _readable_in(store, collection, span)
    _require_enough(collection, max((row.n for row in rows), default=0))
    enough = [row for row in rows if row.n >= _least_reports(collection)]
    most = max(1, MAX_ROWS // collection.mechanism.tally_size)
    if len(enough) > most:
        raise Problem(
            "invalid-argument",
            f"from and to must span at most {most} epochs when grouped, got {len(enough)}",
            argument="group_by",
            accepted=f"at most {most} epochs: narrow from and to",
            given=f"{len(enough)} epochs",
        )
    few = tuple(row.epoch for row in rows if row.n < _least_reports(collection))
    return (_sum_of_rows(store, collection, [row]) for row in enough), few


@dataclass(frozen=True, slots=True, eq=False)
class EpochPage:
    """Some epochs, one by one; `following` is the first epoch of the next page."""

    tallies: Iterator[PooledTally]
    too_few: tuple[int, ...]
    following: int | None


def epoch_page(store: Reports, collection: Collection, span: EpochRange, most: int) -> EpochPage:
    """The first `most` readable epochs of the span. Raises read-refused.

    It has the tallies of epochs with enough reports, which may be none.
    """
    rows = _readable_in(store, collection, span)
    page, after = rows[:most], rows[most:]
    needed = _least_reports(collection)
    return EpochPage(
        (_sum_of_rows(store, collection, [row]) for row in page if row.n >= needed),
        tuple(row.epoch for row in page if row.n < needed),
        after[0].epoch if after else None,
    )


def _readable_in(store: Reports, collection: Collection, span: EpochRange) -> list[EpochRow]:
    refuse_releases_only(collection)
    return [
        row
        for row in readable_rows(collection, store.epochs(collection.id))
        if span.first <= row.epoch <= span.last
    ]


def readable_rows(collection: Collection, rows: Sequence[EpochRow]) -> list[EpochRow]:
    """The epochs whose reports may be read; none if only releases may be read."""
    if collection.manifest.read == "releases":
        return []
    live = collection.manifest.read == "live"
    return [row for row in rows if row.expired_at is None and (live or row.closed_at is not None)]


def _least_reports(collection: Collection) -> int:
    return collection.manifest.min_batch  # at least 1: without a report there is no estimate


def _require_enough(collection: Collection, n: int) -> None:
    needed = _least_reports(collection)
    if n < needed:
        raise Problem(
            "too-few-reports",
            f"these epochs hold {n} readable reports and {needed} are needed: "
            "widen from and to, or wait",
            n=n,
            needed=needed,
        )


def _require_every_level(collection: Collection, reports: PooledTally) -> None:
    estimator, n = collection.estimator, reports.n
    if not isinstance(estimator, HierarchyEstimator):
        return
    silent = estimator.levels_without_reports(reports.tally, n)
    if silent:
        raise Problem(
            "too-few-reports",
            f"each report of {collection.mechanism.id} is about one of "
            f"{1 / collection.mechanism.sampling_fraction} levels, and none of these {n} is about "
            f"level {', '.join(map(str, silent))}: widen from and to, or wait for more reports",
            n=n,
            levels=silent,
        )


def _sum_of_rows(store: Reports, collection: Collection, rows: Sequence[EpochRow]) -> PooledTally:
    epochs = tuple(row.epoch for row in rows)
    cells = cells_of(store, collection, epochs)
    first = next(cells)  # at least one exists, because the rows have reports
    n, tally = first.n, first.tally.copy()
    for cell in cells:
        n += cell.n
        tally += cell.tally
    return PooledTally(epochs, any(row.closed_at is None for row in rows), n, tally)


def cells_of(store: Reports, collection: Collection, epochs: Sequence[int]) -> Iterator[KeyedTally]:
    """The cells of all versions and cohorts of these epochs, read a few epochs at a time."""
    wanted = frozenset(epochs)
    step = max(1, INTEGERS_AT_ONCE // collection.mechanism.tally_size)
    for start in range(0, len(epochs), step):
        batch = epochs[start : start + step]
        for cell in store.tallies(collection.id, batch[0], batch[-1]):
            if cell.key.epoch in wanted:
                yield require_possible(collection.estimator, cell)
