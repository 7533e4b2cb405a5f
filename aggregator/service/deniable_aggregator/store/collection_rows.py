"""Which collections there are, which of them lists leave out, and which were deleted."""

from __future__ import annotations

from deniable_aggregator.store.rows import CollectionRow, DeletedManifest, DeletionCheck
from deniable_aggregator.store.statements import Row, Statements, read_rows

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
select collection, version, body_hash as digest from deleted_manifests join log using (position)
order by number"""


def read_all(db: Statements) -> dict[str, CollectionRow]:
    """By id."""
    return {
        row["id"]: CollectionRow(row["number"], row["closed"] == 1, row["archived"] == 1)
        for row in read_rows(Row, db.execute(_ROWS))
    }


def set_archived(db: Statements, number: int, *, archived: bool) -> bool:
    """False where it was so before."""
    return bool(db.execute(_ARCHIVE, (int(archived), number, int(archived))).rowcount)


def delete(db: Statements, number: int, collection: str, may: DeletionCheck) -> None:
    """Note its manifests as deleted, then delete all that there is of it before its first report.

    Foreign keys refuse to delete a collection that has more.
    """
    may(bool(db.execute(_USED, (number,) * 3).fetchall()))
    db.execute(_NOTE, (collection, number))
    for statement in _DELETE:
        db.execute(statement, (number,))


def read_deleted(db: Statements) -> list[DeletedManifest]:
    """In the order of deleting."""
    return list(read_rows(DeletedManifest, db.execute(_DELETED)))
