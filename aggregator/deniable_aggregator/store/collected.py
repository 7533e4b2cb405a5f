"""Which collections there are, which of them lists leave out, and which were deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from deniable_aggregator.store.statements import Statements

__all__ = [
    "CollectionRow",
    "Collections",
    "DeletedManifest",
    "MayDelete",
    "archive",
    "delete",
    "deleted",
    "rows",
]

_ROWS = "select id, number, closed, archived from collections"
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
_DELETE = (
    "delete from rejections where collection = ?",
    "delete from shown_collections where collection = ?",
    "delete from manifests where collection = ?",
    "delete from collections where number = ?",
)
_DELETED = """
select collection, version, body_hash from deleted_manifests join log using (position)
order by number"""

MayDelete = Callable[[bool], None]
"""Given whether the collection has reports, closed epochs or charges; returns or raises."""


@dataclass(frozen=True, slots=True)
class CollectionRow:
    """A registered collection; registered again after it was deleted it has another `number`."""

    number: int
    closed: bool
    archived: bool


@dataclass(frozen=True, slots=True)
class DeletedManifest:
    """One version of a collection that was deleted; the log still has its digest."""

    collection: str
    version: int
    digest: bytes


class Collections(Protocol):
    """The part of a store that knows them."""

    def collections(self) -> dict[str, CollectionRow]:
        """By id."""
        ...

    def set_collection_closed(self, collection: str) -> None:
        """Refuse this collection's reports permanently."""
        ...

    def set_collection_archived(self, collection: str, *, archived: bool) -> None:
        """Whether lists leave it out."""
        ...

    def delete_collection(self, collection: str, may: MayDelete) -> None:
        """Remove it and its manifests; their log entries stay.

        `may` is called inside the writing transaction; what it raises is raised, and nothing is
        deleted. Nor is it where a report is counted meanwhile: StoreError.
        """
        ...

    def deleted_manifests(self) -> list[DeletedManifest]:
        """Every one, in the order of deleting."""
        ...


def rows(db: Statements) -> dict[str, CollectionRow]:
    """By id."""
    found = db.execute(_ROWS).fetchall()
    return {
        collection_id: CollectionRow(number, closed == 1, hidden == 1)
        for collection_id, number, closed, hidden in found
    }


def archive(db: Statements, number: int, *, archived: bool) -> bool:
    """False where it was so before."""
    return bool(db.execute(_ARCHIVE, (int(archived), number, int(archived))).rowcount)


def delete(db: Statements, number: int, collection: str, may: MayDelete) -> None:
    """Note its manifests as deleted, then delete all that there is of it before its first report.

    Foreign keys refuse to delete a collection that has more.
    """
    may(bool(db.execute(_USED, (number,) * 3).fetchall()))
    db.execute(_NOTE, (collection, number))
    for statement in _DELETE:
        db.execute(statement, (number,))


def deleted(db: Statements) -> list[DeletedManifest]:
    """In the order of deleting."""
    return [DeletedManifest(*row) for row in db.execute(_DELETED)]
