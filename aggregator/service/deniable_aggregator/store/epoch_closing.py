"""Closed and expired epochs, and the progress of spools, in SQL that both databases share.

Called inside transactions. The maintenance does not close an epoch while a spool may have reports
for it. Progress never goes back, so several consumers of one spool may each write theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.checksums import seal
from deniable_aggregator.store.statements import Row, Statements, read_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

SWEEP_IDS = 20_000
"""Ids deleted in one transaction: closing an epoch of 10^7 reports delays uploads only briefly."""

_CLOSED = "select 1 from closed_epochs where collection = ? and epoch = ?"
_CLOSE = """
insert into closed_epochs (collection, epoch, closed_at, seal) values (?, ?, ?, ?)
on conflict do nothing"""
_EXPIRE = """
insert into expired_epochs (collection, epoch, expired_at, seal) values (?, ?, ?, ?)
on conflict do nothing"""
_DELETE_PAGES = """
delete from pages where cell in (select number from cells where collection = ? and epoch = ?)"""
_DELETE_CELLS = "delete from cells where collection = ? and epoch = ?"
_INTERRUPTED = """
select collection, epoch from closed_epochs where exists (
    select 1 from seen where seen.collection = closed_epochs.collection
    and seen.epoch = closed_epochs.epoch)
or exists (
    select 1 from vouchers where vouchers.collection = closed_epochs.collection
    and vouchers.epoch = closed_epochs.epoch)"""


def is_closed(db: Statements, number: int, epoch: int) -> bool:
    """Whether the epoch is marked closed."""
    return bool(db.execute(_CLOSED, (number, epoch)).fetchall())


def close(db: Statements, number: int, epoch: int, now: float) -> bool:
    """Mark the epoch closed; False if it was before."""
    return bool(db.execute(_CLOSE, _sealed_row(number, epoch, now)).rowcount)


def expire(db: Statements, number: int, epoch: int, now: float) -> bool:
    """Delete the counts of a closed epoch; False if they were deleted before."""
    if not is_closed(db, number, epoch):
        raise StoreError(f"epoch {epoch} is open: its counts are not complete yet")
    if not db.execute(_EXPIRE, _sealed_row(number, epoch, now)).rowcount:
        return False
    db.execute(_DELETE_PAGES, (number, epoch))
    db.execute(_DELETE_CELLS, (number, epoch))
    return True


def _sealed_row(number: int, epoch: int, now: float) -> tuple[int, int, int, int]:
    """The row of a closed or expired epoch, with its seal."""
    return number, epoch, int(now), seal(int(now), number, epoch)


def require_closed(db: Statements, number: int, epoch: int) -> None:
    """Raises StoreError for an epoch that still takes reports."""
    if not is_closed(db, number, epoch):
        raise StoreError(
            f"epoch {epoch} is open: its ids keep its reports from being counted twice"
        )


def interrupted_sweeps(db: Statements) -> list[tuple[int, int]]:
    """(collection number, epoch) of closed epochs whose sweep was interrupted."""
    return [(row["collection"], row["epoch"]) for row in read_rows(Row, db.execute(_INTERRUPTED))]


_NOTE = """
insert into spools (place, counted_until) values (?, ?)
on conflict (place) do update set counted_until = excluded.counted_until
where excluded.counted_until > spools.counted_until"""
_COUNTED = "select place, counted_until from spools order by place"
_FORGET = "delete from spools where place = ?"


def counted_time(now: float, spools: Mapping[str, int]) -> float:
    """Unix seconds: now, or the progress of the slowest spool. Epochs that end later are open."""
    return min((now, *spools.values()))


def set_counted_until(db: Statements, place: str, until: int) -> None:
    """Note that all reports accepted before `until` are counted; 0 if nothing is known yet."""
    db.execute(_NOTE, (place, until))


def counted_until(db: Statements) -> dict[str, int]:
    """Place → Unix seconds until which it is counted, for every spool."""
    return {row["place"]: row["counted_until"] for row in read_rows(Row, db.execute(_COUNTED))}


def forget_spool(db: Statements, place: str) -> bool:
    """Forget a spool: no epoch waits for it. Returns False if the place is unknown."""
    return bool(db.execute(_FORGET, (place,)).rowcount)
