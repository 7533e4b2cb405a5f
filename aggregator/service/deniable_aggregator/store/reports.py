"""Tables of reports, with the SQL that both databases share: all but counting and closing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import batches, epoch_closing, sql_views, stored_tallies
from deniable_aggregator.store.common_tables import CommonTables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.store.rows import CollectionView, EpochView


class ReportTables(CommonTables, ABC):
    """Most of `protocols.Reports`."""

    def blocks(self, job: str) -> frozenset[str]:
        with self._connections.read() as db:
            return batches.counted_names(db, job)

    def is_closed(self, collection: str, epoch: int) -> bool:
        number = self._number(collection)
        with self._connections.read() as db:
            return epoch_closing.is_closed(db, number, epoch)

    def expire_epoch(self, collection: str, epoch: int, now: float) -> bool:
        number = self._number(collection)
        with self._connections.write() as db:
            sql_views.remove_epoch_view(db, number, epoch)
            return epoch_closing.expire(db, number, epoch, now)

    def count_rejections(self, collection: str, counts: Mapping[str, int]) -> None:
        self._rejections.add(self._number(collection), counts)

    def rejections(self, collection: str) -> dict[str, int]:
        return self._rejections.of(self._number(collection))

    def set_spool_progress(self, place: str, until: float) -> None:
        with self._connections.write() as db:
            epoch_closing.set_counted_until(db, place, int(until))

    def spool_progress(self) -> dict[str, int]:
        with self._connections.read() as db:
            return epoch_closing.counted_until(db)

    def remove_spool(self, place: str) -> bool:
        with self._connections.write() as db:
            return epoch_closing.forget_spool(db, place)

    def collection_view(self, collection: str) -> CollectionView | None:
        number = self._number(collection)
        with self._connections.read() as db:
            return sql_views.collection_view(db, number)

    def set_collection_view(self, collection: str, view: CollectionView) -> None:
        number = self._number(collection)
        with self._connections.write() as db:
            sql_views.set_collection_view(db, number, view)

    def epoch_view_makers(self, collection: str) -> dict[int, str]:
        number = self._number(collection)
        with self._connections.read() as db:
            return sql_views.epoch_view_makers(db, number)

    def set_epoch_view(self, collection: str, view: EpochView) -> bool:
        number = self._number(collection)
        with self._connections.write() as db:
            return sql_views.set_epoch_view(db, number, view)

    def _require_sealed_facts(self) -> None:
        """Raises StoreError if a closed epoch's row is damaged: the epoch would seem open."""
        with self._connections.read() as db:
            if stored_tallies.has_unsealed_epochs(db):
                raise StoreError(
                    "the database is damaged: it has an unreadable record of a closed epoch. "
                    "Restore a backup with `deniable store restore`"
                )

    def _finish_sweeps(self) -> None:
        with self._connections.read() as db:
            pending = epoch_closing.interrupted_sweeps(db)
        for number, epoch in pending:
            self._sweep(number, epoch)

    def _sweep(self, number: int, epoch: int) -> None:
        while not self._sweep_slice(number, epoch):
            pass

    @abstractmethod
    def _sweep_slice(self, number: int, epoch: int) -> bool:
        """Delete some ids of a closed epoch in a transaction; True if none is left."""
