"""Exactly once with many writers: ids are PostgreSQL's to tell apart, counts are appended.

    lock (collection, epoch) shared   so that none of them closes before this transaction ends
    closed?                           read behind the lock: it sees every closing before it
    insert ids, on conflict nothing   waits for whoever inserts the same id: counted there, or here
    insert serials of the new ones    waits likewise: see `vouchers`
    append a delta for each cell      no two writers touch one row

Locks, ids, serials and cells are taken in one order by all, so that none waits in a circle. Closing
takes the epoch's lock alone, folds what was appended, and stores the fact. `sqlite.commit` has one
writer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from deniable_aggregator.store import batches, epoch_closing, spool_blocks, vouchers
from deniable_aggregator.store.checksums import (
    CELL_IS_SEALED,
    body,
    seal,
)
from deniable_aggregator.store.postgres import rollup
from deniable_aggregator.store.postgres.pool import Lock, Session
from deniable_aggregator.store.rows import (
    Arrival,
    Block,
    Cell,
    Counts,
    Part,
    Tally,
    Verdict,
)
from deniable_aggregator.store.statements import Row, Statements, named

IDS_AT_ONCE = 20_000
"""Ids of blocks in one statement: arrays in memory, here and there."""

# Epochs have 32 bits without a sign, lock keys with one.
_SHARE = """
select pg_advisory_xact_lock_shared(collection, (epoch - 2147483648)::integer)
from unnest(?::integer[], ?::bigint[]) as wanted (collection, epoch)"""
_ALONE = "select pg_advisory_xact_lock(?::integer, (?::bigint - 2147483648)::integer)"
_CLOSED = """
select collection, epoch from closed_epochs
join unnest(?::integer[], ?::bigint[]) as wanted (collection, epoch) using (collection, epoch)"""
_KEYS = "select * from unnest(?::integer[], ?::bigint[], ?::bytea[]) on conflict do nothing"
_SEEN, _VOUCHERS = "collection, epoch, id", "collection, epoch, serial"
_INSERT_IDS = f"insert into seen ({_SEEN}) {_KEYS} returning {_SEEN}"
_REDEEM = f"insert into vouchers ({_VOUCHERS}) {_KEYS} returning {_VOUCHERS}"
_TAKE_BACK = """
delete from seen using unnest(?::integer[], ?::bigint[], ?::bytea[]) as refused (c, e, i)
where collection = c and epoch = e and id = i"""
_INSERT_CELL = """
insert into cells (collection, epoch, manifest_version, cohort, tally_size, seal, body)
values (?, ?, ?, ?, ?, ?, 0) on conflict do nothing"""
_CELL = f"""
select number, case {CELL_IS_SEALED} when 1 then tally_size end as tally_size from cells
where collection = ? and epoch = ? and manifest_version = ? and cohort = ?"""  # noqa: S608
_APPEND = """
insert into deltas (cell, n, places, counts, seal, body)
select * from unnest(
    ?::integer[], ?::bigint[], ?::bytea[], ?::bytea[], ?::bigint[], ?::bigint[])"""
_SWEPT = (
    """
delete from seen where ctid = any(array(
    select ctid from seen where collection = ? and epoch = ? limit ?))""",
    """
delete from vouchers where ctid = any(array(
    select ctid from vouchers where collection = ? and epoch = ? limit ?))""",
)


@dataclass(frozen=True, slots=True)
class CellRow:
    """What stands for a cell, and the length of its tally: neither ever changes."""

    number: int
    tally_size: int


@dataclass(frozen=True, slots=True)
class Committed:
    """What became of a batch, and the cells it met for the first time."""

    verdicts: list[Verdict]
    cells: Mapping[Cell, CellRow]


def commit(
    db: Session,
    numbers: Mapping[str, int],
    known: Mapping[Cell, CellRow],
    arrivals: Sequence[Arrival],
    tally: Tally,
) -> Committed:
    """Insert ids and serials that are new, then append the tally of their reports, cell by cell.

    The cells that are returned may be relied on once the transaction is committed.
    """
    places = {
        (numbers[collection], epoch): found
        for (collection, epoch), found in batches.by_epoch(arrivals).items()
    }
    _share(db, sorted(places))
    closed = _closed(db, sorted(places))
    verdicts = [Verdict.DUPLICATE] * len(arrivals)
    firsts: dict[tuple[int, int, bytes], int] = {}
    for (number, epoch), found in places.items():
        for place in reversed(found):
            verdicts[place] = Verdict.CLOSED if (number, epoch) in closed else Verdict.DUPLICATE
            firsts[number, epoch, arrivals[place].report_id] = place
    open_ids = sorted(key for key in firsts if key[:2] not in closed)
    new = {key: firsts[key] for key in _insert_new(db, open_ids)}
    for key in _take_back(db, arrivals, new):
        del new[key]
        vouchers.refuse_spent(verdicts, arrivals, places[key[:2]], [key])
    fresh: dict[Cell, list[bytes]] = {}
    for place in new.values():
        verdicts[place] = Verdict.COUNTED
        fresh.setdefault(arrivals[place].cell, []).append(arrivals[place].payload)
    tallied = {
        cell: (len(payloads), batches.tallied(cell, payloads, tally))
        for cell, payloads in fresh.items()
    }
    return Committed(verdicts, _append(db, numbers, known, tallied))


def commit_blocks(
    db: Session,
    numbers: Mapping[str, int],
    known: Mapping[Cell, CellRow],
    found: Sequence[tuple[Block, Sequence[Part]]],
    tally: Tally,
) -> tuple[list[Counter[tuple[str, Verdict]] | None], Mapping[Cell, CellRow]]:
    """The same for blocks; the verdicts counted, and the cells met for the first time."""
    group = spool_blocks.Group(db, numbers, found)
    _share(db, group.places)
    closed = _closed(db, group.places)
    for place in group.places:
        if place in closed:
            group.refuse(place)
        else:
            new = [report_id for _, _, report_id in _inserted(db, place, group.ids(place))]
            group.admit(place, new, tally)
    return group.verdicts, _append(db, numbers, known, group.fresh)


def close(db: Session, number: int, epoch: int, now: float) -> bool:
    """Fold what is left, store the fact; False if it was stored before."""
    db.execute(_ALONE, (number, epoch))
    db.wait_for(Lock.FOLD)
    rollup.fold_epoch(db, number, epoch)
    return epoch_closing.close(db, number, epoch, now)


def sweep(db: Statements, number: int, epoch: int) -> bool:
    """Delete up to SWEEP_IDS ids, then serials, of a closed epoch; True when none is left."""
    epoch_closing.require_closed(db, number, epoch)
    most = epoch_closing.SWEEP_IDS
    return all(db.execute(each, (number, epoch, most)).rowcount < most for each in _SWEPT)


def _share(db: Statements, epochs: Sequence[tuple[int, int]]) -> None:
    """Keep these epochs from closing until the transaction ends."""
    db.execute(_SHARE, _columns(epochs, 2))


def _closed(db: Statements, epochs: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """Those of the (collection, epoch) that are closed."""
    found = db.execute(_CLOSED, _columns(epochs, 2))
    return {(row["collection"], row["epoch"]) for row in named(Row, found)}


def _insert_new(
    db: Statements, ids: Sequence[tuple[int, int, bytes]]
) -> list[tuple[int, int, bytes]]:
    """Insert those of the ids that are not there; returns them."""
    return db.execute(_INSERT_IDS, _columns(ids, 3)).fetchall() if ids else []


def _inserted(
    db: Statements, place: spool_blocks.Place, ids: Sequence[bytes]
) -> Iterator[tuple[int, int, bytes]]:
    """The same for very many ids of one epoch."""
    for start in range(0, len(ids), IDS_AT_ONCE):
        part = ids[start : start + IDS_AT_ONCE]
        yield from _insert_new(db, [(*place, report_id) for report_id in part])


def _take_back(
    db: Statements, arrivals: Sequence[Arrival], new: Mapping[vouchers.Key, int]
) -> list[vouchers.Key]:
    """Redeem what the new ones carry, and delete the ids of those refused; returns these."""
    refused = vouchers.turned_away(
        arrivals, new, lambda serials: db.execute(_REDEEM, _columns(serials, 3)).fetchall()
    )
    if refused:
        db.execute(_TAKE_BACK, _columns(refused, 3))
    return refused


def _columns(rows: Sequence[tuple[object, ...]], width: int) -> list[list[object]]:
    """Rows as arrays for `unnest`."""
    return [[row[column] for row in rows] for column in range(width)]


def _append(
    db: Statements,
    numbers: Mapping[str, int],
    known: Mapping[Cell, CellRow],
    fresh: Mapping[Cell, tuple[int, Counts]],
) -> dict[Cell, CellRow]:
    """A delta for each cell; returns the cells that are not among the known ones."""
    met: dict[Cell, CellRow] = {}
    rows: list[tuple[object, ...]] = []
    for cell, (n, delta) in sorted(fresh.items(), key=lambda item: _key(numbers, item[0])):
        row = known.get(cell) or met.setdefault(cell, _cell(db, _key(numbers, cell), delta))
        if row.tally_size != len(delta):
            raise batches.length_changed(cell, len(delta))
        sums = seal(n, row.number), body(delta)
        rows.append((row.number, n, *rollup.spelled(delta), *sums))
    if rows:
        db.execute(_APPEND, _columns(rows, 6))
    return met


def _key(numbers: Mapping[str, int], cell: Cell) -> tuple[int, int, int, int]:
    return numbers[cell.collection], cell.epoch, cell.manifest_version, cell.cohort


def _cell(db: Statements, key: tuple[int, int, int, int], delta: Counts) -> CellRow:
    """The cell's row, made by whoever counts in it first.

    Where the row is damaged its size says nothing: reports are added, and the cell stays damaged.
    """
    db.execute(_INSERT_CELL, (*key, len(delta), seal(0, *key, len(delta))))
    [row] = named(Row, db.execute(_CELL, key))
    size = row["tally_size"]
    return CellRow(row["number"], len(delta) if size is None else size)
