"""Counts each report exactly once, in SQL. Called inside the store's transactions.

Ids and tallies change together. Here one writer adds in place; `postgres.commit` has many writers.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import batches, epoch_closing
from deniable_aggregator.store.batches import (
    BlockBatch,
    group_by_epoch,
    length_error,
    tally_payloads,
)
from deniable_aggregator.store.checksums import (
    BODY_MASK,
    CELL_IS_SEALED,
    PRIME,
    seal,
    seal_increment,
)
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
from deniable_aggregator.store.stored_tallies import add_pages, body_of_pages, changed_pages

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

IDS_AT_ONCE = 128
"""Most ids in one statement; each number up to it has its own prepared statement."""

_ADD_TO_DAMAGED_CELL = f"""
insert into cells (collection, epoch, manifest_version, cohort, n, tally_size, seal, body)
values (?, ?, ?, ?, ?, ?, ?, ?)
on conflict (collection, epoch, manifest_version, cohort)
do update set n = n + excluded.n, seal = (seal + ?) % {PRIME},
    body = ((body & {BODY_MASK}) + excluded.body) & {BODY_MASK}"""  # noqa: S608  (the names in it are fixed)
_ADD_TO_CELL = f"""{_ADD_TO_DAMAGED_CELL}
where tally_size = excluded.tally_size
returning number"""
_IS_SEALED = f"""
select number, {CELL_IS_SEALED} as sealed from cells
where collection = ? and epoch = ? and manifest_version = ? and cohort = ?"""  # noqa: S608  (the names in it are fixed)
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


def commit_reports(
    db: Statements,
    numbers: Mapping[str, int],
    reports: Sequence[AcceptedReport],
    tally: TallyKernel,
) -> list[CommitStatus]:
    """Insert ids and serials that are new, then add the tally of their reports, cell by cell."""
    statuses = [CommitStatus.DUPLICATE] * len(reports)
    payloads_by_key: dict[TallyKey, list[bytes]] = {}
    for (collection, epoch), positions in group_by_epoch(reports).items():
        number = _number(numbers, collection)
        if epoch_closing.is_closed(db, number, epoch):
            for position in positions:
                statuses[position] = CommitStatus.CLOSED
            continue
        for position in _admit(db, number, epoch, reports, positions, statuses):
            statuses[position] = CommitStatus.COUNTED
            payloads_by_key.setdefault(reports[position].key, []).append(reports[position].payload)
    for key, payloads in payloads_by_key.items():
        delta = tally_payloads(key, payloads, tally)
        _add(db, _number(numbers, key.collection), key, len(payloads), delta)
    return statuses


def commit_blocks(
    db: Statements,
    numbers: Mapping[str, int],
    blocks: Sequence[tuple[BlockId, Sequence[PartialTally]]],
    tally: TallyKernel,
) -> list[Counter[tuple[str, CommitStatus]] | None]:
    """Insert the new ids in order, and add the tallies of their reports in the blocks."""
    batch = BlockBatch(db, numbers, blocks)
    for number, epoch in batch.epoch_keys:
        if epoch_closing.is_closed(db, number, epoch):
            batch.refuse((number, epoch))
        else:
            new = _insert_new(db, number, epoch, batch.ids((number, epoch)))
            batch.admit((number, epoch), new, tally)
    for key, (n, delta) in batch.new_tallies.items():
        _add(db, _number(numbers, key.collection), key, n, delta)
    return batch.status_counts


def sweep(db: Statements, number: int, epoch: int) -> bool:
    """Delete up to SWEEP_IDS ids, then serials, of a closed epoch; True if none is left.

    Safe because reports of a closed epoch are refused. Raises StoreError for an open one.
    """
    epoch_closing.require_closed(db, number, epoch)
    for find_bound, delete, below in _SWEPT:
        bound = db.execute(find_bound, (number, epoch, epoch_closing.SWEEP_IDS)).fetchone()
        if bound is not None:
            db.execute(delete + below, (number, epoch, *bound))
            return False
        db.execute(delete, (number, epoch))
    return True


def _admit(
    db: Statements,
    number: int,
    epoch: int,
    reports: Sequence[AcceptedReport],
    positions: Sequence[int],
    statuses: list[CommitStatus],
) -> list[int]:
    """Insert the new ids of an open epoch; returns the positions of the reports to count."""
    firsts = {reports[position].report_id: position for position in reversed(positions)}
    new = {
        (number, epoch, report_id): firsts[report_id]
        for report_id in _insert_new(db, number, epoch, list(firsts))
    }
    refused = batches.find_spent(reports, new, lambda serials: _redeem(db, serials))
    if refused:
        for key in refused:
            db.execute(_TAKE_BACK, key)
            del new[key]
        batches.mark_spent(statuses, reports, positions, refused)
    return list(new.values())


def _redeem(db: Statements, serials: Sequence[batches.ScopedId]) -> list[batches.ScopedId]:
    """Insert the new serials; returns them."""
    return [key for key in serials if db.execute(_REDEEM, key).rowcount]


def _insert_new(db: Statements, number: int, epoch: int, ids: list[bytes]) -> list[bytes]:
    """Insert the new ids among distinct `ids`; returns them.

    Usually all are new. To return them always would add a third to the cost of the insertion.
    """
    new = []
    for start in range(0, len(ids), IDS_AT_ONCE):
        part = ids[start : start + IDS_AT_ONCE]
        values = [number, epoch, b""] * len(part)
        values[2::3] = part
        with suppress(sqlite3.IntegrityError):
            db.execute(_insert_ids(len(part)), values)
            new += part
            continue
        rows = db.execute(_insert_unknown_ids(len(part)), values)
        new += [report_id for (report_id,) in rows]
    return new


@cache
def _insert_ids(count: int) -> str:
    """One statement for many ids: under load each statement may wait 5 ms for the interpreter."""
    rows = ", ".join(["(?, ?, ?)"] * count)
    return f"insert into seen (collection, epoch, id) values {rows}"  # noqa: S608  (the names in it are fixed)


@cache
def _insert_unknown_ids(count: int) -> str:
    return _insert_ids(count).replace("insert", "insert or ignore", 1) + " returning id"


def _number(numbers: Mapping[str, int], collection: str) -> int:
    try:
        return numbers[collection]
    except KeyError:
        raise StoreError(f"collection {collection!r} has no manifest in this store") from None


def _add(db: Statements, number: int, key: TallyKey, n: int, delta: Counts) -> None:
    columns = (number, key.epoch, key.manifest_version, key.cohort)
    pages = list(changed_pages(delta))
    sums = seal(n, *columns, len(delta)), body_of_pages(pages), seal_increment(n)
    row = (*columns, n, len(delta), *sums)
    rows = db.execute(_ADD_TO_CELL, row).fetchall()
    if not rows:
        [stored] = read_rows(Row, db.execute(_IS_SEALED, columns))
        if stored["sealed"]:
            raise length_error(key, len(delta))
        db.execute(_ADD_TO_DAMAGED_CELL, row)  # it stays damaged; other cells are counted
        rows = [(stored["number"],)]
    add_pages(db, rows[0][0], pages)
