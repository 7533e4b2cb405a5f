"""Tables of collections, archived and deleted ones, key lists, and the log of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.store import audit_log, transparency_log
from deniable_aggregator.store.common_tables import CommonTables
from deniable_aggregator.store.rows import (
    CollectionRow,
    DeletedManifest,
    DeletionCheck,
    KeyListRow,
    ManifestRow,
)
from deniable_aggregator.store.statements import Statements, read_rows

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry
    from deniable_shared.wire.transparency_log import LogEntry

_ARCHIVE = "update collections set archived = ? where number = ? and archived <> ?"
_USED = """
select 1 from cells where collection = ?
union all select 1 from closed_epochs where collection = ?
union all select 1 from charges where collection = ?
limit 1"""
_NOTE = """
insert into deleted_manifests (number, position, collection, version)
select (select coalesce(max(number), 0) from deleted_manifests)
    + row_number() over (order by position), position, ?, version
from manifests where collection = ?"""
_DELETE_ALL = (
    "delete from rejections where collection = ?",
    "delete from shown_collections where collection = ?",
    "delete from notes where collection = ?",
    "delete from deliveries where alert in (select id from alerts where collection = ?)",
    "delete from alerts where collection = ?",
    "delete from manifests where collection = ?",
    "delete from collections where number = ?",
)
_DELETED = """
select collection, version, body_hash as digest from deleted_manifests join log using (position)
order by number"""


class CollectionTables(CommonTables):
    """See `protocols.Collections`."""

    def collections(self) -> dict[str, CollectionRow]:
        return self._collections()

    def add_manifest(self, row: ManifestRow, *, audit: AuditEntry | None) -> None:
        with self._connections.write() as db:
            number = transparency_log.add_manifest(db, row)
            audit_log.append(db, audit)
        self._numbers[row.collection] = number

    def manifests(self) -> list[ManifestRow]:
        with self._connections.read() as db:
            return transparency_log.manifests(db)

    def set_collection_closed(self, collection: str, *, audit: AuditEntry | None) -> None:
        number = self._number(collection)
        with self._connections.write() as db:
            db.execute("update collections set closed = 1 where number = ?", (number,))
            audit_log.append(db, audit)

    def set_collection_archived(
        self, collection: str, *, archived: bool, audit: AuditEntry | None
    ) -> None:
        number = self._number(collection)
        with self._connections.write() as db:
            if _set_archived(db, number, archived=archived):
                audit_log.append(db, audit)

    def delete_collection(
        self, collection: str, may: DeletionCheck, *, audit: AuditEntry | None
    ) -> None:
        number = self._number(collection)
        with self._connections.write() as db:
            _delete(db, number, collection, may)
            audit_log.append(db, audit)
        self._numbers.pop(collection, None)
        self._rejections.forget(number)

    def deleted_manifests(self) -> list[DeletedManifest]:
        with self._connections.read() as db:
            return _read_deleted(db)

    def add_key_list(self, row: KeyListRow, *, log_size: int, audit: AuditEntry | None) -> bool:
        with self._connections.write() as db:
            if transparency_log.head(db)[0] != log_size:
                return False
            transparency_log.add_key_list(db, row)
            audit_log.append(db, audit)
        return True

    def latest_key_list(self) -> KeyListRow | None:
        with self._connections.read() as db:
            return transparency_log.latest_key_list(db)

    def key_list(self, version: int) -> KeyListRow | None:
        with self._connections.read() as db:
            return transparency_log.key_list(db, version)

    def log(self, first: int = 0) -> list[LogEntry]:
        with self._connections.read() as db:
            return transparency_log.entries(db, first)

    def log_head(self) -> tuple[int, str]:
        with self._connections.read() as db:
            size, head = transparency_log.head(db)
        return size, head.hex()

    def log_head_at(self, size: int) -> str | None:
        with self._connections.read() as db:
            head = transparency_log.head_at(db, size)
        return None if head is None else head.hex()


def _set_archived(db: Statements, number: int, *, archived: bool) -> bool:
    """Set the flag; returns False if nothing changed."""
    return bool(db.execute(_ARCHIVE, (int(archived), number, int(archived))).rowcount)


def _delete(db: Statements, number: int, collection: str, may: DeletionCheck) -> None:
    """Note the manifests as deleted, then delete the collection, which has no report yet.

    Foreign keys refuse to delete a collection with reports.
    """
    may(bool(db.execute(_USED, (number,) * 3).fetchall()))
    db.execute(_NOTE, (collection, number))
    for statement in _DELETE_ALL:
        db.execute(statement, (number,))


def _read_deleted(db: Statements) -> list[DeletedManifest]:
    """Every deleted manifest, in the order of deletion."""
    return list(read_rows(DeletedManifest, db.execute(_DELETED)))
