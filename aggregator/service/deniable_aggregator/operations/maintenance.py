"""The work of the leading process at each tick: roll up, close, delete, publish, rotate.

This module decides when; the store, the keys and the SQL views do it.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from deniable_aggregator.collections import retention
from deniable_aggregator.queries.sql_views import publish
from deniable_aggregator.store.epoch_closing import counted_time
from deniable_shared.manifest.epochs import closes_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_aggregator.collections.registry import Collection, Registry
    from deniable_aggregator.keys import Keys
    from deniable_aggregator.store.protocols import Store
    from deniable_gateway.clock.watch import ClockWatch

logger = logging.getLogger(__name__)

DAY_SECONDS = 86_400


class ScheduledMaintenance:
    """Call `run` only in the leading process."""

    def __init__(
        self,
        store: Store,
        *,
        registry: Registry,
        keys: Keys,
        clock_watch: ClockWatch,
        close_epoch: Callable[[Collection, int], bool],
        rotate_keys_days: int,
    ) -> None:
        """`rotate_keys_days` = 0: keys are not rotated by age."""
        self._store = store
        self._registry = registry
        self._keys = keys
        self._clock_watch = clock_watch
        self._close_epoch = close_epoch
        self._rotate_keys_days = rotate_keys_days

    def run(self) -> None:
        """Do all work that is due. Raises Problem("unavailable") while the clock is in doubt."""
        self._store.roll_up()
        counted = counted_time(self._clock_watch.now(), self._store.spool_progress())
        for collection in self._registry.all():
            self._close_due_epochs(collection, counted)
            self._delete_old_tallies(collection)
            publish(self._store, collection, self._store.epochs(collection.id))
        self._maintain_keys(counted)
        self._store.delete_expired_access(self._clock_watch.now())

    def _maintain_keys(self, counted: float) -> None:
        if self._rotate_keys_days:
            self._keys.rotate_overdue(self._rotate_keys_days * DAY_SECONDS)
        self._keys.destroy_expired(partial(self._is_over, now=counted))

    def _is_over(self, moment: int, *, now: float) -> bool:
        """Whether every epoch that was current in that second accepts no more reports."""
        return all(now > collection.closes(moment) for collection in self._registry.all())

    def _close_due_epochs(self, collection: Collection, now: float) -> None:
        manifest = collection.manifest
        for row in self._store.epochs(collection.id):
            due = now > closes_at(row.epoch, manifest.epoch_seconds, manifest.grace_seconds)
            if due and row.closed_at is None:
                self._close_epoch(collection, row.epoch)

    def _delete_old_tallies(self, collection: Collection) -> None:
        """Delete tallies that are overdue by a margin: a clock wrong by minutes deletes nothing."""
        settled = self._clock_watch.settled
        for row in self._store.epochs(collection.id):
            skipped = row.closed_at is None or row.expired_at is not None
            if not skipped and retention.is_over(collection.manifest, row.epoch, settled):
                self._store.expire_epoch(collection.id, row.epoch, self._clock_watch.now())
                logger.info("the tallies of epoch %d of %s are deleted", row.epoch, collection.id)
