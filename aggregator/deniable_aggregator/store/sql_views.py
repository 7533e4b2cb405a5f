"""What the SQL views show beside the tables: written here, read by nothing but the views.

It is derived, so that it may be deleted and written again at any time; copies leave it out.
Called inside the store's transactions.
"""

from __future__ import annotations

from deniable_aggregator.store.rows import ShownCollection, ShownEpoch
from deniable_aggregator.store.statements import Row, Statements, named

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


def shown_collection(db: Statements, number: int) -> ShownCollection | None:
    """What is shown of it."""
    [*found] = named(ShownCollection, db.execute(_SHOWN, (number,)))
    return found[0] if found else None


def show_collection(db: Statements, number: int, shown: ShownCollection) -> None:
    """In place of what was shown of it."""
    db.execute(_SHOW_COLLECTION, (number, shown.name, shown.read, shown.epoch_seconds))


def makers(db: Statements, number: int) -> dict[int, str]:
    """Epoch → who made what is shown of it."""
    return {row["epoch"]: row["maker"] for row in named(Row, db.execute(_MAKERS, (number,)))}


def show_epoch(db: Statements, number: int, shown: ShownEpoch) -> bool:
    """In place of what was shown of it; False, and nothing shown, where it is open or expired."""
    forget(db, number, shown.epoch)
    if not db.execute(_READABLE, (number, shown.epoch)).fetchall():
        return False
    made = (number, shown.epoch, shown.maker, shown.n, shown.confidence)
    db.execute(_SHOW_EPOCH, made)
    for position, row in enumerate(shown.rows):
        db.execute(_SHOW_ESTIMATE, (number, shown.epoch, position, *row))
    return True


def forget(db: Statements, number: int, epoch: int) -> None:
    """Show nothing of that epoch."""
    for statement in _FORGET:
        db.execute(statement, (number, epoch))
