"""Exactly once, in SQL: ids and tallies change together. Called inside the store's transactions.

This is SQLite's way, where one writer adds in place; `appending` is PostgreSQL's, and uses those
parts of this one that both databases share.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache

import numpy as np

from deniable_aggregator.errors import StoreError
from deniable_aggregator.store import blocks, redeeming
from deniable_aggregator.store.checksums import (
    BODY_MASK,
    CELL_IS_SEALED,
    PRIME,
    added_seal,
    body,
    seal,
)
from deniable_aggregator.store.rows import (
    PAGE_SIZE,
    Arrival,
    Block,
    Cell,
    Counts,
    Part,
    Tally,
    Verdict,
)
from deniable_aggregator.store.statements import Row, Statements, named

IDS_AT_ONCE = 128
"""Ids in one statement; there is one prepared statement for each number up to it."""

SWEEP_IDS = 20_000
"""Ids deleted in one transaction: a closing epoch of 10^7 never holds up an upload for long."""

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
_ADD_TO_DAMAGED_CELL = f"""
insert into cells (collection, epoch, manifest_version, cohort, n, tally_size, seal, body)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
on conflict (collection, epoch, manifest_version, cohort)
do update set n = n + excluded.n, seal = (seal + ?9) % {PRIME},
    body = ((body & {BODY_MASK}) + excluded.body) & {BODY_MASK}"""  # noqa: S608
_ADD_TO_CELL = f"""{_ADD_TO_DAMAGED_CELL}
where tally_size = excluded.tally_size
returning number"""
_READ_PAGE = "select counts from pages where cell = ? and page = ?"
_WRITE_PAGE = """
insert into pages (cell, page, counts) values (?, ?, ?)
on conflict (cell, page) do update set counts = excluded.counts"""
_IS_SEALED = f"""
select number, {CELL_IS_SEALED} as sealed from cells
where collection = ? and epoch = ? and manifest_version = ? and cohort = ?"""  # noqa: S608
_LEFTOVERS = """
select collection, epoch from closed_epochs where exists (
    select 1 from seen where seen.collection = closed_epochs.collection
    and seen.epoch = closed_epochs.epoch)
or exists (
    select 1 from vouchers where vouchers.collection = closed_epochs.collection
    and vouchers.epoch = closed_epochs.epoch)"""
_SWEPT = (
    (
        "select id from seen where collection = ? and epoch = ? order by id limit 1 offset ?",
        "delete from seen where collection = ? and epoch = ?",
        " and id < ?",
    ),
    (
        "select serial from vouchers where collection = ? and epoch = ?"
        " order by serial limit 1 offset ?",
        "delete from vouchers where collection = ? and epoch = ?",
        " and serial < ?",
    ),
)
_TAKE_BACK = "delete from seen where collection = ? and epoch = ? and id = ?"
_REDEEM = """
insert into vouchers (collection, epoch, serial) values (?, ?, ?) on conflict do nothing"""


def commit(
    db: Statements, numbers: Mapping[str, int], arrivals: Sequence[Arrival], tally: Tally
) -> list[Verdict]:
    """Insert ids and serials that are new, then add the tally of their reports, cell by cell."""
    verdicts = [Verdict.DUPLICATE] * len(arrivals)
    fresh: dict[Cell, list[bytes]] = {}
    for (collection, epoch), places in by_epoch(arrivals).items():
        number = _number(numbers, collection)
        if is_closed(db, number, epoch):
            for place in places:
                verdicts[place] = Verdict.CLOSED
            continue
        for place in _admit(db, number, epoch, arrivals, places, verdicts):
            verdicts[place] = Verdict.COUNTED
            fresh.setdefault(arrivals[place].cell, []).append(arrivals[place].payload)
    for cell, payloads in fresh.items():
        delta = tallied(cell, payloads, tally)
        _add(db, _number(numbers, cell.collection), cell, len(payloads), delta)
    return verdicts


def commit_blocks(
    db: Statements,
    numbers: Mapping[str, int],
    found: Sequence[tuple[Block, Sequence[Part]]],
    tally: Tally,
) -> list[Counter[tuple[str, Verdict]] | None]:
    """Insert the ids that are new, in their order, and add what the blocks have of them."""
    group = blocks.Group(db, numbers, found)
    for number, epoch in group.places:
        if is_closed(db, number, epoch):
            group.refuse((number, epoch))
        else:
            new = _insert_new(db, number, epoch, group.ids((number, epoch)))
            group.admit((number, epoch), new, tally)
    for cell, (n, delta) in group.fresh.items():
        _add(db, _number(numbers, cell.collection), cell, n, delta)
    return group.verdicts


def is_closed(db: Statements, number: int, epoch: int) -> bool:
    """Whether the fact is stored."""
    return bool(db.execute(_CLOSED, (number, epoch)).fetchall())


def close(db: Statements, number: int, epoch: int, now: float) -> bool:
    """Store the fact; False if it was stored before."""
    return bool(db.execute(_CLOSE, _fact(number, epoch, now)).rowcount)


def expire(db: Statements, number: int, epoch: int, now: float) -> bool:
    """Delete the counts of a closed epoch; False if they were deleted before."""
    if not is_closed(db, number, epoch):
        raise StoreError(f"epoch {epoch} is open: its counts are not complete yet")
    if not db.execute(_EXPIRE, _fact(number, epoch, now)).rowcount:
        return False
    db.execute(_DELETE_PAGES, (number, epoch))
    db.execute(_DELETE_CELLS, (number, epoch))
    return True


def _fact(number: int, epoch: int, now: float) -> tuple[int, int, int, int]:
    """That an epoch was closed or expired at this time, with its seal."""
    return number, epoch, int(now), seal(int(now), number, epoch)


def sweep(db: Statements, number: int, epoch: int) -> bool:
    """Delete up to SWEEP_IDS ids, then serials, of a closed epoch; True when none is left.

    Safe because reports of a closed epoch are refused; StoreError for an open one.
    """
    require_closed(db, number, epoch)
    for find_bound, delete, below in _SWEPT:
        bound = db.execute(find_bound, (number, epoch, SWEEP_IDS)).fetchone()
        if bound is not None:
            db.execute(delete + below, (number, epoch, *bound))
            return False
        db.execute(delete, (number, epoch))
    return True


def require_closed(db: Statements, number: int, epoch: int) -> None:
    """StoreError for an epoch that still takes reports."""
    if not is_closed(db, number, epoch):
        raise StoreError(
            f"epoch {epoch} is open: its ids keep its reports from being counted twice"
        )


def leftovers(db: Statements) -> list[tuple[int, int]]:
    """(collection number, epoch) of closed epochs whose sweep was interrupted."""
    return [(row["collection"], row["epoch"]) for row in named(Row, db.execute(_LEFTOVERS))]


def by_epoch(arrivals: Sequence[Arrival]) -> dict[tuple[str, int], list[int]]:
    """(collection, epoch) → places in the batch, rising."""
    places: dict[tuple[str, int], list[int]] = {}
    for place, arrival in enumerate(arrivals):
        cell = arrival.cell
        places.setdefault((cell.collection, cell.epoch), []).append(place)
    return places


def refuse_spent(
    verdicts: list[Verdict],
    arrivals: Sequence[Arrival],
    places: Sequence[int],
    refused: Sequence[redeeming.Key],
) -> None:
    """SPENT for these reports, wherever in the batch they stand: none of them is counted."""
    spent = {report_id for _, _, report_id in refused}
    for place in places:
        if arrivals[place].report_id in spent:
            verdicts[place] = Verdict.SPENT


def _admit(
    db: Statements,
    number: int,
    epoch: int,
    arrivals: Sequence[Arrival],
    places: Sequence[int],
    verdicts: list[Verdict],
) -> list[int]:
    """Insert what is new of an open epoch; the places of the reports to count."""
    firsts = {arrivals[place].report_id: place for place in reversed(places)}
    new = {
        (number, epoch, report_id): firsts[report_id]
        for report_id in _insert_new(db, number, epoch, list(firsts))
    }
    refused = redeeming.turned_away(arrivals, new, lambda serials: _redeem(db, serials))
    if refused:
        for key in refused:
            db.execute(_TAKE_BACK, key)
            del new[key]
        refuse_spent(verdicts, arrivals, places, refused)
    return list(new.values())


def _redeem(db: Statements, serials: Sequence[redeeming.Key]) -> list[redeeming.Key]:
    """Insert those that are not there; returns them."""
    return [key for key in serials if db.execute(_REDEEM, key).rowcount]


def _insert_new(db: Statements, number: int, epoch: int, ids: list[bytes]) -> list[bytes]:
    """Insert those of the ids, each given once, that are not there; returns them.

    As a rule all are new: to have them named would cost a third of the insertion.
    """
    new = []
    for start in range(0, len(ids), IDS_AT_ONCE):
        part = ids[start : start + IDS_AT_ONCE]
        values = (number, epoch, *part)
        with suppress(sqlite3.IntegrityError):
            db.execute(_insert_ids(len(part)), values)
            new += part
            continue
        rows = db.execute(_insert_unknown_ids(len(part)), values)
        new += [report_id for (report_id,) in rows]
    return new


@cache
def _insert_ids(count: int) -> str:
    """One statement for many ids: each statement may wait for the interpreter, under load 5 ms."""
    rows = ", ".join(f"(?1, ?2, ?{place})" for place in range(3, 3 + count))
    return f"insert into seen (collection, epoch, id) values {rows}"  # noqa: S608


@cache
def _insert_unknown_ids(count: int) -> str:
    return _insert_ids(count).replace("insert", "insert or ignore", 1) + " returning id"


def _number(numbers: Mapping[str, int], collection: str) -> int:
    try:
        return numbers[collection]
    except KeyError:
        raise StoreError(f"collection {collection!r} has no manifest in this store") from None


def _add(db: Statements, number: int, cell: Cell, n: int, delta: Counts) -> None:
    key = (number, cell.epoch, cell.manifest_version, cell.cohort)
    pages = list(_pages(delta))
    sums = seal(n, *key, len(delta)), _body(pages), added_seal(n)
    row = (*key, n, len(delta), *sums)
    rows = db.execute(_ADD_TO_CELL, row).fetchall()
    if not rows:
        [kept] = named(Row, db.execute(_IS_SEALED, key))
        if kept["sealed"]:
            raise length_changed(cell, len(delta))
        db.execute(_ADD_TO_DAMAGED_CELL, row)  # it stays damaged; other cells are counted
        rows = [(kept["number"],)]
    _add_pages(db, rows[0][0], pages)


def tallied(cell: Cell, payloads: Sequence[bytes], tally: Tally) -> Counts:
    """The kernel over payloads of one cell."""
    joined = np.frombuffer(b"".join(payloads), np.uint8)
    return tally(cell, joined.reshape(len(payloads), -1))


def length_changed(cell: Cell, length: int) -> StoreError:
    """A cell's tally has one length for good."""
    return StoreError(f"the tally of {cell} has changed its length to {length}")


def add_to_pages(db: Statements, cell: int, delta: Counts) -> None:
    """Add a tally to what a cell's pages hold; the caller sees to it that nobody else does."""
    _add_pages(db, cell, _pages(delta))


def _add_pages(db: Statements, cell: int, pages: Iterable[tuple[int, Counts]]) -> None:
    """A page whose length is wrong is begun again: the cell's body shows what is missing then."""
    for page, part in pages:
        stored = db.execute(_READ_PAGE, (cell, page)).fetchone()
        fits = stored is not None and len(stored[0]) == part.nbytes
        total = part + np.frombuffer(stored[0], "<i8") if fits else part
        db.execute(_WRITE_PAGE, (cell, page, total.astype("<i8", copy=False).tobytes()))


def _body(pages: Iterable[tuple[int, Counts]]) -> int:
    """The body of a tally from the pages that it changes: the others have counts of 0."""
    return sum(body(part, page) for page, part in pages) & BODY_MASK


def _pages(delta: Counts) -> Iterator[tuple[int, Counts]]:
    """The pages that change."""
    for page, start in enumerate(range(0, len(delta), PAGE_SIZE)):
        part = delta[start : start + PAGE_SIZE]
        if part.any():
            yield page, part
