"""Reports, as far as both databases keep them with the same SQL: all but counting and closing."""

from __future__ import annotations

from collections.abc import Mapping

from deniable_aggregator.errors import StoreError
from deniable_aggregator.store import (
    epoch_closing,
    spool_blocks,
    spool_progress,
    sql_views,
    stored_tallies,
)
from deniable_aggregator.store.common_tables import Tables
from deniable_aggregator.store.rows import ShownCollection, ShownEpoch


class ReportTables(Tables):
    """Most of `protocols.Reports`."""

    def blocks(self, job: str) -> frozenset[str]:
        with self._connections.read() as db:
            return spool_blocks.done(db, job)

    def is_closed(self, collection: str, epoch: int) -> bool:
        number = self._number(collection)
        with self._connections.read() as db:
            return epoch_closing.is_closed(db, number, epoch)

    def expire_epoch(self, collection: str, epoch: int, now: float) -> bool:
        number = self._number(collection)
        with self._connections.write() as db:
            sql_views.forget(db, number, epoch)
            return epoch_closing.expire(db, number, epoch, now)

    def count_rejections(self, collection: str, counts: Mapping[str, int]) -> None:
        self._rejections.add(self._number(collection), counts)

    def rejections(self, collection: str) -> dict[str, int]:
        return self._rejections.of(self._number(collection))

    def note_spool(self, place: str, until: float) -> None:
        with self._connections.write() as db:
            spool_progress.note(db, place, int(until))

    def spools(self) -> dict[str, int]:
        with self._connections.read() as db:
            return spool_progress.counted_until(db)

    def forget_spool(self, place: str) -> bool:
        with self._connections.write() as db:
            return spool_progress.forget(db, place)

    def shown_collection(self, collection: str) -> ShownCollection | None:
        number = self._number(collection)
        with self._connections.read() as db:
            return sql_views.shown_collection(db, number)

    def show_collection(self, collection: str, shown: ShownCollection) -> None:
        number = self._number(collection)
        with self._connections.write() as db:
            sql_views.show_collection(db, number, shown)

    def shown_epochs(self, collection: str) -> dict[int, str]:
        number = self._number(collection)
        with self._connections.read() as db:
            return sql_views.makers(db, number)

    def show_epoch(self, collection: str, shown: ShownEpoch) -> bool:
        number = self._number(collection)
        with self._connections.write() as db:
            return sql_views.show_epoch(db, number, shown)

    def _require_sealed_facts(self) -> None:
        """Raises StoreError: where one of them is damaged, an epoch that was closed seems open."""
        with self._connections.read() as db:
            if stored_tallies.unsealed_facts(db):
                raise StoreError(
                    "the database is damaged: an epoch that was closed or deleted cannot be read. "
                    "Restore a backup with `deniable restore`"
                )
