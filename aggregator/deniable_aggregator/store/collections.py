"""Collections, key lists, and the log that has an entry of each."""

from __future__ import annotations

from deniable_aggregator.access import audit
from deniable_aggregator.store import collected, journal
from deniable_aggregator.store.rows import (
    CollectionRow,
    DeletedManifest,
    KeyListRow,
    ManifestRow,
    MayDelete,
)
from deniable_aggregator.store.tables import Tables
from deniable_shared.journal import LogEntry

__all__ = ["CollectionTables"]

_ARCHIVING = {True: "collection-archived", False: "collection-unarchived"}
"""Whether a collection is to be archived → what the audit log calls it."""


class CollectionTables(Tables):
    """See `protocols.Collections`."""

    def collections(self) -> dict[str, CollectionRow]:
        return self._collections()

    def add_manifest(self, row: ManifestRow) -> None:
        with self._lent.write("manifest-applied") as db:
            number = journal.add_manifest(db, row)
        self._numbers[row.collection] = number

    def manifests(self) -> list[ManifestRow]:
        with self._lent.read() as db:
            return journal.manifests(db)

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
