"""Counts each report exactly once with many writers: ids are unique, counts are appended.

    lock (collection, epoch) shared   so that none of them closes before this transaction ends
    closed?                           read after the lock, so it sees every earlier closing
    insert ids, on conflict nothing   waits for another insert of the same id: one is counted
    insert serials of the new ones    waits in the same way: see `batches`
    append a delta for each cell      two writers never touch the same row

All transactions take locks, ids, serials and cells in the same order, so that no deadlock occurs.
Closing takes the epoch's lock exclusively, folds the deltas, and stores that the epoch is closed.
`sqlite.commit` has one writer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_aggregator.store import batches, epoch_closing
from deniable_aggregator.store.checksums import (
    CELL_IS_SEALED,
    body,
    seal,
)
from deniable_aggregator.store.postgres import rollup
from deniable_aggregator.store.postgres.pool import Lock, Transaction
from deniable_aggregator.store.rows import (
    AcceptedReport,
    BlockId,
    CommitStatus,
    Counts,
    PartialTally,
    TallyKernel,
    TallyKey,
)
from deniable_aggregator.store.statements import Row, Statements, read_rows

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping, Sequence

IDS_AT_ONCE = 20_000
"""Most ids of blocks in one statement: they are arrays in memory on both sides."""

# Epochs are unsigned 32-bit numbers, lock keys are signed.
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
where collection = ? and epoch = ? and manifest_version = ? and cohort = ?"""  # noqa: S608  (the names in it are fixed)
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
    """The number of a cell's row and the length of its tally. Neither ever changes."""

    number: int
    tally_size: int


@dataclass(frozen=True, slots=True)
class CommitResult:
    """The status of each report, and the cells that are new to this process."""

    statuses: list[CommitStatus]
    cells: Mapping[TallyKey, CellRow]


def commit_reports(
    db: Transaction,
    numbers: Mapping[str, int],
    known_cells: Mapping[TallyKey, CellRow],
    reports: Sequence[AcceptedReport],
    tally: TallyKernel,
) -> CommitResult:
    """Insert ids and serials that are new, then append the tally of their reports, cell by cell.

    The returned cells are valid after the transaction is committed.
    """
    positions_by_epoch = {
        (numbers[collection], epoch): positions
        for (collection, epoch), positions in batches.group_by_epoch(reports).items()
    }
    _lock_open(db, sorted(positions_by_epoch))
    closed = _select_closed(db, sorted(positions_by_epoch))
    statuses = [CommitStatus.DUPLICATE] * len(reports)
    firsts: dict[tuple[int, int, bytes], int] = {}
    for (number, epoch), positions in positions_by_epoch.items():
        for position in reversed(positions):
            statuses[position] = (
                CommitStatus.CLOSED if (number, epoch) in closed else CommitStatus.DUPLICATE
            )
            firsts[number, epoch, reports[position].report_id] = position
    open_ids = sorted(key for key in firsts if key[:2] not in closed)
    new = {key: firsts[key] for key in _insert_new(db, open_ids)}
    for key in _redeem(db, reports, new):
        del new[key]
        batches.mark_spent(statuses, reports, positions_by_epoch[key[:2]], [key])
    payloads_by_key: dict[TallyKey, list[bytes]] = {}
    for position in new.values():
        statuses[position] = CommitStatus.COUNTED
        payloads_by_key.setdefault(reports[position].key, []).append(reports[position].payload)
    tallies = {
        key: (len(payloads), batches.tally_payloads(key, payloads, tally))
        for key, payloads in payloads_by_key.items()
    }
    return CommitResult(statuses, _append(db, numbers, known_cells, tallies))


def commit_blocks(
    db: Transaction,
    numbers: Mapping[str, int],
    known_cells: Mapping[TallyKey, CellRow],
    blocks: Sequence[tuple[BlockId, Sequence[PartialTally]]],
    tally: TallyKernel,
) -> tuple[list[Counter[tuple[str, CommitStatus]] | None], Mapping[TallyKey, CellRow]]:
    """Commit blocks; returns the status counts of each, and the new cells."""
    batch = batches.BlockBatch(db, numbers, blocks)
    _lock_open(db, batch.epoch_keys)
    closed = _select_closed(db, batch.epoch_keys)
    for epoch_key in batch.epoch_keys:
        if epoch_key in closed:
            batch.refuse(epoch_key)
        else:
            new = [
                report_id for _, _, report_id in _insert_many(db, epoch_key, batch.ids(epoch_key))
            ]
            batch.admit(epoch_key, new, tally)
    return batch.status_counts, _append(db, numbers, known_cells, batch.new_tallies)


def close(db: Transaction, number: int, epoch: int, now: float) -> bool:
    """Fold the remaining deltas and mark the epoch closed; False if it was closed before."""
    db.execute(_ALONE, (number, epoch))
    db.lock(Lock.FOLD)
    rollup.fold_epoch(db, number, epoch)
    return epoch_closing.close(db, number, epoch, now)


def sweep(db: Statements, number: int, epoch: int) -> bool:
    """Delete up to SWEEP_IDS ids, then serials, of a closed epoch; True if none is left."""
    epoch_closing.require_closed(db, number, epoch)
    most = epoch_closing.SWEEP_IDS
    return all(db.execute(each, (number, epoch, most)).rowcount < most for each in _SWEPT)


def _lock_open(db: Statements, epochs: Sequence[tuple[int, int]]) -> None:
    """Keep these epochs from closing until the transaction ends."""
    db.execute(_SHARE, _columns(epochs, 2))


def _select_closed(db: Statements, epochs: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """The closed ones among these (collection, epoch) pairs."""
    rows = db.execute(_CLOSED, _columns(epochs, 2))
    return {(row["collection"], row["epoch"]) for row in read_rows(Row, rows)}


def _insert_new(
    db: Statements, ids: Sequence[tuple[int, int, bytes]]
) -> list[tuple[int, int, bytes]]:
    """Insert the new ids; returns them."""
    return db.execute(_INSERT_IDS, _columns(ids, 3)).fetchall() if ids else []


def _insert_many(
    db: Statements, epoch_key: batches.EpochKey, ids: Sequence[bytes]
) -> Iterator[tuple[int, int, bytes]]:
    """Insert very many ids of one epoch; returns the new ones."""
    for start in range(0, len(ids), IDS_AT_ONCE):
        part = ids[start : start + IDS_AT_ONCE]
        yield from _insert_new(db, [(*epoch_key, report_id) for report_id in part])


def _redeem(
    db: Statements, reports: Sequence[AcceptedReport], new: Mapping[batches.ScopedId, int]
) -> list[batches.ScopedId]:
    """Redeem the serials of new reports; deletes and returns the ids of refused ones."""
    refused = batches.find_spent(
        reports, new, lambda serials: db.execute(_REDEEM, _columns(serials, 3)).fetchall()
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
    known_cells: Mapping[TallyKey, CellRow],
    tallies: Mapping[TallyKey, tuple[int, Counts]],
) -> dict[TallyKey, CellRow]:
    """Append a delta for each cell; returns the cells that are not in `known`."""
    new_cells: dict[TallyKey, CellRow] = {}
    rows: list[tuple[object, ...]] = []
    for key, (n, delta) in sorted(tallies.items(), key=lambda item: _columns_of(numbers, item[0])):
        row = known_cells.get(key) or new_cells.setdefault(
            key, _cell(db, _columns_of(numbers, key), delta)
        )
        if row.tally_size != len(delta):
            raise batches.length_error(key, len(delta))
        sums = seal(n, row.number), body(delta)
        rows.append((row.number, n, *rollup.encode_delta(delta), *sums))
    if rows:
        db.execute(_APPEND, _columns(rows, 6))
    return new_cells


def _columns_of(numbers: Mapping[str, int], cell: TallyKey) -> tuple[int, int, int, int]:
    return numbers[cell.collection], cell.epoch, cell.manifest_version, cell.cohort


def _cell(db: Statements, key: tuple[int, int, int, int], delta: Counts) -> CellRow:
    """The cell's row, inserted with its first report.

    The size of a damaged row is ignored: reports are added, and the cell stays damaged.
    """
    db.execute(_INSERT_CELL, (*key, len(delta), seal(0, *key, len(delta))))
    [row] = read_rows(Row, db.execute(_CELL, key))
    size = row["tally_size"]
    return CellRow(row["number"], len(delta) if size is None else size)
