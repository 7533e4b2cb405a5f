"""Public facts of the epochs that a release reads: their numbers, n, reports of one device.

A release reads only closed epochs. An epoch whose time is over is closed permanently before its
tally is read, so no report can be added afterwards.

Neighbours replace one report within its epoch, so n is public. Under `read = "releases"` that holds
for each epoch with at least `min_batch` reports. An epoch with fewer is never read, whether it has
any or none: then only this comparison depends on its number of reports. The newest
manifest decides, for the epochs of earlier versions too.

Source: docs/mathematics/releases-over-sums.md, Neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.collections.retention import first_kept
from deniable_aggregator.documents.describe import moment
from deniable_aggregator.queries.pooled_tallies import cells_of
from deniable_aggregator.releases.kinds.contract import ReleaseContext, Tallies, TallyPart
from deniable_aggregator.store.epoch_closing import counted_time
from deniable_central.accounting import Installation
from deniable_gateway.problem import Problem
from deniable_shared.manifest.epochs import closes_at, epoch_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deniable_aggregator.collections.registry import Collection
    from deniable_aggregator.releases.request import EpochSelection
    from deniable_aggregator.store.protocols import Reports
    from deniable_aggregator.store.rows import EpochRow

MOST_EPOCHS = 1_000
"""Most epochs of one release: one transaction charges each of them."""

MOST_INTEGERS = 1 << 25
"""Epochs × cohorts × tally length of one release: 256 MiB."""

_WIDEST = ("live", "closed", "releases")


@dataclass(frozen=True, slots=True)
class ReleaseEpochs:
    """The epochs that a release reads, and the requested ones with too few reports.

    Both ascend. `too_few` is empty unless only releases may be read.
    """

    read: tuple[int, ...]
    too_few: tuple[int, ...] = ()


def close_epochs(
    store: Reports, collection: Collection, selection: EpochSelection, now: float
) -> ReleaseEpochs:
    """The epochs, each closed permanently first, so that its counts are final."""
    over = _over(store, collection, selection, now)
    stored = {row.epoch for row in store.epochs(collection.id) if row.closed_at is not None}
    for epoch in over:
        if epoch not in stored:
            store.close_epoch(collection.id, epoch, now, audit=None)
    return _with_enough(store, collection, over)


def select_epochs(
    store: Reports, collection: Collection, selection: EpochSelection, now: float
) -> ReleaseEpochs:
    """The epochs to read. Raises invalid-argument, epoch-open or too-few-reports."""
    return _with_enough(store, collection, _over(store, collection, selection, now))


def _with_enough(store: Reports, collection: Collection, over: Sequence[int]) -> ReleaseEpochs:
    """The epochs with enough reports. Raises too-few-reports if there are none."""
    if collection.manifest.read != "releases":
        return ReleaseEpochs(tuple(over))
    counts = {row.epoch: row.n for row in store.epochs(collection.id)}
    enough = {epoch for epoch in over if counts.get(epoch, 0) >= collection.manifest.min_batch}
    if not enough:
        raise _too_few(collection, 0)
    return ReleaseEpochs(tuple(sorted(enough)), tuple(each for each in over if each not in enough))


def _over(
    store: Reports, collection: Collection, selection: EpochSelection, now: float
) -> tuple[int, ...]:
    """The requested epochs that are over, also those with few reports."""
    now = counted_time(now, store.spool_progress())
    calendar = _EpochCalendar(
        collection, {row.epoch: row for row in store.epochs(collection.id)}, now
    )
    epochs = _selected_epochs(collection, selection, now)
    if selection.bounded or selection.listed is not None:
        calendar.refuse_open(epochs)
    over = calendar.over(epochs)
    if not over:
        raise _too_few(collection, 0)
    _check_size(collection, len(over))
    return tuple(over)


def context_of(store: Reports, collection: Collection, epochs: Sequence[int]) -> ReleaseContext:
    """The context of these epochs, which have at least one report."""
    wanted = set(epochs)
    n = sum(row.n for row in store.epochs(collection.id) if row.epoch in wanted)
    if not n:
        raise _too_few(collection, n)
    return ReleaseContext(
        collection=collection.id,
        domain=collection.manifest.domain,
        mechanism=collection.mechanism,
        repeat=collection.manifest.repeat,
        read=_widest_read(collection),
        epochs=tuple(epochs),
        n=n,
        cohorts=collection.manifest.cohorts,
        installation=_installation(collection, epochs),
        live=collection.manifest.read == "live",
    )


def require_enough(collection: Collection, context: ReleaseContext) -> None:
    """Raises too-few-reports below the newest `min_batch`, all epochs together."""
    if context.n < collection.manifest.min_batch:
        raise _too_few(collection, context.n)


def tallies_of(store: Reports, collection: Collection, context: ReleaseContext) -> Tallies:
    """One part for each epoch and cohort with reports, over all versions of the manifest.

    ReportsGoneError where they are not all there: their time was over in between.
    """
    parts: dict[tuple[int, int], TallyPart] = {}
    for row in cells_of(store, collection, context.epochs):
        place = row.key.epoch, row.key.cohort
        part = parts.get(place)
        n, counts = (0, 0) if part is None else (part.n, part.counts)
        parts[place] = TallyPart(*place, n + row.n, row.tally + counts)
    if sum(part.n for part in parts.values()) != context.n:
        raise ReportsGoneError
    return Tallies(tuple(parts.values()))


class ReportsGoneError(Exception):
    """Tallies were deleted. It has no number, because how many are left may be secret."""


@dataclass(frozen=True, slots=True)
class _EpochCalendar:
    """Decides which epochs are over: by the clock all before `edge`, which may be millions."""

    collection: Collection
    rows: Mapping[int, EpochRow]
    now: float

    @property
    def edge(self) -> int:
        manifest = self.collection.manifest
        return epoch_at(max(0, self.now - manifest.grace_seconds), manifest.epoch_seconds) - 1

    def refuse_open(self, epochs: Sequence[int]) -> None:
        unsure = epochs
        if isinstance(epochs, range):
            unsure = range(max(epochs.start, self.edge), epochs.stop)
        for epoch in unsure:
            if not self.is_over(epoch):
                raise _still_open(self.collection, epoch)

    def over(self, epochs: Sequence[int]) -> list[int]:
        """The requested epochs that are over; empty ones only if their emptiness is secret."""
        wanted = epochs if isinstance(epochs, range) else frozenset(epochs)
        if self.collection.manifest.read != "releases":
            counted = [epoch for epoch, row in self.rows.items() if row.n]
            return sorted(epoch for epoch in counted if epoch in wanted and self.is_over(epoch))
        past: Iterable[int] = (epoch for epoch in epochs if epoch < self.edge)
        if isinstance(epochs, range):
            past = range(epochs.start, min(epochs.stop, self.edge))
            _check_size(self.collection, len(past))
        late = [epoch for epoch in (*self.rows, self.edge, self.edge + 1) if epoch in wanted]
        return sorted({*past, *filter(self.is_over, late)})

    def is_over(self, epoch: int) -> bool:
        row = self.rows.get(epoch)
        stored = row is not None and row.closed_at is not None
        return stored or self.now > _closes(self.collection, epoch)


def _selected_epochs(
    collection: Collection, selection: EpochSelection, now: float
) -> Sequence[int]:
    """The selected epochs in the collection's life, except those with tallies due for deletion."""
    last = collection.last_epoch
    first = max(collection.first_epoch, first_kept(collection.manifest, now))
    if selection.listed is None:
        return range(max(first, selection.span.first), min(last, selection.span.last) + 1)
    for epoch in selection.listed:
        if not first <= epoch <= last:
            raise _refused("epochs", f"epochs with tallies, {first} to {last}", epoch)
    return sorted(set(selection.listed))


def _closes(collection: Collection, epoch: int) -> int:
    manifest = collection.manifest
    return closes_at(epoch, manifest.epoch_seconds, manifest.grace_seconds)


def _widest_read(collection: Collection) -> str:
    """The widest access of any version: data that was once readable may have been read."""
    return min((m.read for m in collection.versions.values()), key=_WIDEST.index)


def _installation(collection: Collection, epochs: Sequence[int]) -> Installation:
    """Reports of one device in the first version's lifetime: later versions may only lower it."""
    first = collection.first
    if first.repeat == "once":
        return Installation.once(report=first.epsilon_report)
    if first.repeat == "fresh":
        return Installation.fresh(
            epochs=len(epochs), report=first.epsilon_report, lifetime=first.epsilon_lifetime
        )
    return Installation.memoized(
        epochs=len(epochs),
        holds=len({first.hold_at(epoch) for epoch in epochs}),
        permanent=first.epsilon_permanent or first.epsilon_report,
        lifetime=first.epsilon_lifetime,
    )


def _check_size(collection: Collection, epochs: int) -> None:
    each = collection.manifest.cohorts * collection.mechanism.tally_size
    most = max(1, min(MOST_EPOCHS, MOST_INTEGERS // each))
    if epochs > most:
        raise _refused("epochs", f"at most {most:,} for one release: narrow them", f"{epochs:,}")


def _refused(argument: str, accepted: str, given: object) -> Problem:
    return Problem(
        "invalid-argument",
        f"{argument} must be {accepted}, got {given}",
        argument=argument,
        accepted=accepted,
        given=str(given),
    )


def _still_open(collection: Collection, epoch: int) -> Problem:
    closes = _closes(collection, epoch)
    return Problem(
        "epoch-open",
        f"epoch {epoch} takes reports until {moment(closes)}, and releases read closed "
        "epochs only: ask again then, or for earlier epochs",
        epoch=epoch,
        closes=closes,
    )


def _too_few(collection: Collection, n: int) -> Problem:
    """The refusal. It hides the number of reports if only releases may be read."""
    needed = collection.manifest.min_batch
    if collection.manifest.read == "releases":
        return Problem(
            "too-few-reports",
            f"each epoch that a release reads needs {needed} reports, but none of the closed "
            "epochs in this request has that many: widen from and to, or wait",
            needed=needed,
        )
    return Problem(
        "too-few-reports",
        f"the closed epochs in this request have {n} reports, but {needed} are needed: "
        "widen from and to, or wait",
        n=n,
        needed=needed,
    )
