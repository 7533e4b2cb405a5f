"""Collections, key lists, and the log that has an entry of each."""

from __future__ import annotations

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.store import auditing, collected, journal
from deniable_aggregator.store.rows import (
    CollectionRow,
    DeletedManifest,
    KeyListRow,
    ManifestRow,
    MayDelete,
)
from deniable_aggregator.store.tables import Tables
from deniable_shared.transparency_log import LogEntry


class CollectionTables(Tables):
    """See `protocols.Collections`."""

    def collections(self) -> dict[str, CollectionRow]:
        return self._collections()

    def add_manifest(self, row: ManifestRow, *, audit: AuditEntry | None) -> None:
        with self._connections.write() as db:
            number = journal.add_manifest(db, row)
            auditing.append(db, audit)
        self._numbers[row.collection] = number

    def manifests(self) -> list[ManifestRow]:
        with self._connections.read() as db:
            return journal.manifests(db)

    def set_collection_closed(self, collection: str, *, audit: AuditEntry | None) -> None:
        number = self._number(collection)
        with self._connections.write() as db:
            db.execute("update collections set closed = 1 where number = ?", (number,))
            auditing.append(db, audit)

    def set_collection_archived(
        self, collection: str, *, archived: bool, audit: AuditEntry | None
    ) -> None:
        number = self._number(collection)
        with self._connections.write() as db:
            if collected.archive(db, number, archived=archived):
                auditing.append(db, audit)

    def delete_collection(
        self, collection: str, may: MayDelete, *, audit: AuditEntry | None
    ) -> None:
        number = self._number(collection)
        with self._connections.write() as db:
            collected.delete(db, number, collection, may)
            auditing.append(db, audit)
        self._numbers.pop(collection, None)
        self._rejections.forget(number)

    def deleted_manifests(self) -> list[DeletedManifest]:
        with self._connections.read() as db:
            return collected.deleted(db)

    def add_key_list(self, row: KeyListRow, *, log_size: int, audit: AuditEntry | None) -> bool:
        with self._connections.write() as db:
            if journal.head(db)[0] != log_size:
                return False
            journal.add_key_list(db, row)
            auditing.append(db, audit)
        return True

    def latest_key_list(self) -> KeyListRow | None:
        with self._connections.read() as db:
            return journal.latest_key_list(db)

    def key_list(self, version: int) -> KeyListRow | None:
        with self._connections.read() as db:
            return journal.key_list(db, version)

    def append_log(self, entry_type: str, body_hash: bytes) -> None:
        with self._connections.write() as db:
            journal.append(db, LogEntry(entry_type, body_hash))

    def log(self, first: int = 0) -> list[LogEntry]:
        with self._connections.read() as db:
            return journal.entries(db, first)

    def log_head(self) -> tuple[int, str]:
        with self._connections.read() as db:
            size, head = journal.head(db)
        return size, head.hex()

    def log_head_at(self, size: int) -> str | None:
        with self._connections.read() as db:
            found = journal.head_at(db, size)
        return None if found is None else found.hex()
