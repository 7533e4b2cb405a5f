"""Tables that only the SQL views read: estimates of closed epochs.

Their rows are derived, so they may be deleted and written again at any time; copies leave them
out. Called inside the store's transactions.
"""

from __future__ import annotations

from deniable_aggregator.store.rows import CollectionView, EpochView
from deniable_aggregator.store.statements import Row, Statements, read_rows

_SHOW_COLLECTION = """
insert into shown_collections (collection, name, read, epoch_seconds) values (?, ?, ?, ?)
on conflict (collection) do update
set name = excluded.name, read = excluded.read, epoch_seconds = excluded.epoch_seconds"""
_SHOWN = "select name, read, epoch_seconds from shown_collections where collection = ?"
_MAKERS = "select epoch, maker from shown_epochs where collection = ?"
_READABLE = """
select 1 from closed_epochs as c left join expired_epochs as e using (collection, epoch)
where c.collection = ? and c.epoch = ? and e.epoch is null"""
_SHOW_EPOCH = """
insert into shown_epochs (collection, epoch, maker, n, confidence) values (?, ?, ?, ?, ?)"""
_SHOW_ESTIMATE = """
insert into shown_estimates
    (collection, epoch, position, label, frequency, std_error, lower, upper)
values (?, ?, ?, ?, ?, ?, ?, ?)"""
_FORGET = (
    "delete from shown_estimates where collection = ? and epoch = ?",
    "delete from shown_epochs where collection = ? and epoch = ?",
)


def collection_view(db: Statements, number: int) -> CollectionView | None:
    """The row of the collection in the views, or None."""
    [*rows] = read_rows(CollectionView, db.execute(_SHOWN, (number,)))
    return rows[0] if rows else None


def set_collection_view(db: Statements, number: int, view: CollectionView) -> None:
    """Replace the row of the collection in the views."""
    db.execute(_SHOW_COLLECTION, (number, view.name, view.read, view.epoch_seconds))


def epoch_view_makers(db: Statements, number: int) -> dict[int, str]:
    """Epoch → maker of its rows in the views."""
    return {row["epoch"]: row["maker"] for row in read_rows(Row, db.execute(_MAKERS, (number,)))}


def set_epoch_view(db: Statements, number: int, view: EpochView) -> bool:
    """Replace the epoch's rows in the views; returns False and removes them if open or expired."""
    remove_epoch_view(db, number, view.epoch)
    if not db.execute(_READABLE, (number, view.epoch)).fetchall():
        return False
    columns = (number, view.epoch, view.maker, view.n, view.confidence)
    db.execute(_SHOW_EPOCH, columns)
    for position, row in enumerate(view.rows):
        db.execute(_SHOW_ESTIMATE, (number, view.epoch, position, *row))
    return True


def remove_epoch_view(db: Statements, number: int, epoch: int) -> None:
    """Delete the epoch's rows in the views."""
    for statement in _FORGET:
        db.execute(statement, (number, epoch))
