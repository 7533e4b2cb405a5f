"""The part of a store that both databases keep with one and the same SQL: all but the counting.

Manifests, key lists and the log, the ledger of releases, rejections; in `access` tokens and what
else lets people in. These writes are few; each is a transaction that no other writer of them
overlaps, in any process.
"""

from __future__ import annotations

from collections.abc import Mapping

from deniable_aggregator.access import audit
from deniable_aggregator.errors import StoreError
from deniable_aggregator.store import (
    blocks,
    collected,
    counted,
    counting,
    journal,
    releases,
    showing,
    spooled,
)
from deniable_aggregator.store.access import AccessRegisters
from deniable_aggregator.store.rejections import Rejections
from deniable_aggregator.store.rows import (
    ChargeRow,
    CollectionRow,
    Decide,
    DeletedManifest,
    KeyListRow,
    ManifestRow,
    MayDelete,
    ResultRow,
    ShownCollection,
    ShownEpoch,
)
from deniable_aggregator.store.statements import Connections
from deniable_shared.journal import LogEntry

__all__ = ["Registers"]

_ARCHIVING = {True: "collection-archived", False: "collection-unarchived"}
"""Whether a collection is to be archived → what the audit log calls it."""


class Registers(AccessRegisters):
    """See `protocols.Store`; a store adds counting and what opens and closes it."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self._require_sealed_facts()
        self._rejections = Rejections(connections)
        self._numbers: dict[str, int] = {}
        self.collections()

    def blocks(self, job: str) -> frozenset[str]:
        with self._lent.read() as db:
            return blocks.done(db, job)

    def note_spool(self, place: str, until: float) -> None:
        with self._lent.write() as db:
            spooled.note(db, place, int(until))

    def spools(self) -> dict[str, int]:
        with self._lent.read() as db:
            return spooled.counted_until(db)

    def forget_spool(self, place: str) -> bool:
        with self._lent.write() as db:
            return spooled.forget(db, place)

    def count_rejections(self, collection: str, counts: Mapping[str, int]) -> None:
        self._rejections.add(self._number(collection), counts)

    def rejections(self, collection: str) -> dict[str, int]:
        return self._rejections.of(self._number(collection))

    def flush(self) -> None:
        self._rejections.flush()

    def add_manifest(self, row: ManifestRow) -> None:
        with self._lent.write("manifest-applied") as db:
            number = journal.add_manifest(db, row)
        self._numbers[row.collection] = number

    def manifests(self) -> list[ManifestRow]:
        with self._lent.read() as db:
            return journal.manifests(db)

    def collections(self) -> dict[str, CollectionRow]:
        with self._lent.read() as db:
            found = collected.rows(db)
        self._numbers = {collection_id: row.number for collection_id, row in found.items()}
        return found

    def set_collection_closed(self, collection: str) -> None:
        number = self._number(collection)
        with self._lent.write("collection-closed") as db:
            db.execute("update collections set closed = 1 where number = ?", (number,))

    def set_collection_archived(self, collection: str, *, archived: bool) -> None:
        number, act = self._number(collection), _ARCHIVING[archived]
        with self._lent.write(act) as db:
            if not collected.archive(db, number, archived=archived):
                audit.nothing_done(act)

    def delete_collection(self, collection: str, may: MayDelete) -> None:
        number = self._number(collection)
        with self._lent.write("collection-deleted") as db:
            collected.delete(db, number, collection, may)
        self._numbers.pop(collection, None)
        self._rejections.forget(number)

    def deleted_manifests(self) -> list[DeletedManifest]:
        with self._lent.read() as db:
            return collected.deleted(db)

    def expire_epoch(self, collection: str, epoch: int, now: float) -> bool:
        number = self._number(collection)
        with self._lent.write() as db:
            showing.forget(db, number, epoch)
            return counting.expire(db, number, epoch, now)

    def shown_collection(self, collection: str) -> ShownCollection | None:
        number = self._number(collection)
        with self._lent.read() as db:
            return showing.shown_collection(db, number)

    def show_collection(self, collection: str, shown: ShownCollection) -> None:
        number = self._number(collection)
        with self._lent.write() as db:
            showing.show_collection(db, number, shown)

    def shown_epochs(self, collection: str) -> dict[int, str]:
        number = self._number(collection)
        with self._lent.read() as db:
            return showing.makers(db, number)

    def show_epoch(self, collection: str, shown: ShownEpoch) -> bool:
        number = self._number(collection)
        with self._lent.write() as db:
            return showing.show_epoch(db, number, shown)

    def add_key_list(self, row: KeyListRow, *, log_size: int) -> bool:
        acts = ("key-rotated", "keys-delegated")
        with self._lent.write(*acts) as db:
            if journal.head(db)[0] != log_size:
                audit.nothing_done(*acts)
                return False
            journal.add_key_list(db, row)
        return True

    def latest_key_list(self) -> KeyListRow | None:
        with self._lent.read() as db:
            return journal.latest_key_list(db)

    def key_list(self, version: int) -> KeyListRow | None:
        with self._lent.read() as db:
            return journal.key_list(db, version)

    def append_log(self, entry_type: str, body_hash: bytes) -> None:
        with self._lent.write() as db:
            journal.append(db, LogEntry(entry_type, body_hash))

    def log(self, first: int = 0) -> list[LogEntry]:
        with self._lent.read() as db:
            return journal.entries(db, first)

    def log_head(self) -> tuple[int, str]:
        with self._lent.read() as db:
            size, head = journal.head(db)
        return size, head.hex()

    def log_head_at(self, size: int) -> str | None:
        with self._lent.read() as db:
            found = journal.head_at(db, size)
        return None if found is None else found.hex()

    def charge(self, row: ChargeRow, decide: Decide) -> ChargeRow:
        number = self._number(row.collection)
        if audit.announced("release-asked"):
            audit.tell(release=row.release)
        with self._lent.write("release-asked", "ledger-reconciled") as db:
            charged = releases.charge(db, number, row, decide)
            if charged is not row:
                audit.nothing_done("release-asked", "ledger-reconciled")
            return charged

    def charge_for(self, collection: str, request: bytes) -> ChargeRow | None:
        number = self._number(collection)
        with self._lent.read() as db:
            return releases.charge_for(db, number, request)

    def charges(self, collection: str) -> list[ChargeRow]:
        number = self._number(collection)
        with self._lent.read() as db:
            return releases.charges(db, number)

    def ledger(self, first: int = 0) -> list[ChargeRow]:
        with self._lent.read() as db:
            return releases.ledger(db, first)

    def store_result(self, row: ResultRow, record: bytes | None = None) -> ResultRow:
        with self._lent.write() as db:
            return releases.store_result(db, row, record)

    def result(self, release: str) -> ResultRow | None:
        with self._lent.read() as db:
            return releases.result(db, release)

    def results(self, collection: str) -> list[ResultRow]:
        number = self._number(collection)
        with self._lent.read() as db:
            return releases.results(db, number)

    def add_record(self, release: str, number: int, record: bytes) -> bool:
        with self._lent.write("question-asked") as db:
            added = releases.add_record(db, release, number, record)
            if not added:
                audit.nothing_done("question-asked")
            return added

    def records(self, release: str, first: int = 0) -> list[bytes]:
        with self._lent.read() as db:
            return releases.records(db, release, first)

    def session_sizes(self) -> dict[str, int]:
        with self._lent.read() as db:
            return releases.session_sizes(db)

    def _number(self, collection: str) -> int:
        """What stands for a collection; another process may have registered it meanwhile."""
        if collection not in self._numbers:
            self.collections()
        try:
            return self._numbers[collection]
        except KeyError:
            raise StoreError(f"collection {collection!r} has no manifest in this store") from None

    def _require_sealed_facts(self) -> None:
        """Raises StoreError: where one of them is damaged, an epoch that was closed seems open."""
        with self._lent.read() as db:
            if counted.unsealed_facts(db):
                raise StoreError(
                    "the database is damaged: an epoch that was closed or deleted cannot be read. "
                    "Restore a backup with `deniable restore`"
                )
