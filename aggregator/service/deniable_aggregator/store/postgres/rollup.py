"""The roll-up: adds deltas to the cells and deletes them, in one transaction.

The folding process holds the lock FOLD, so that no other process changes n and pages. Writers keep
appending: an uncommitted delta is invisible and is folded later. Folding in any order gives the
same sums.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable_aggregator.store.checksums import BODY_MASK, CELL_IS_SEALED, PRIME, seal
from deniable_aggregator.store.rows import Counts, RollupBacklog
from deniable_aggregator.store.statements import Row, Rows, Statements, read_rows
from deniable_aggregator.store.stored_tallies import add_to_pages

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLD_DELTAS = 2_000
FOLD_BYTES = 1 << 26
"""Most bytes and deltas that are folded in one transaction, but at least one delta."""

_RETURNING = "returning cell, n, places, counts, seal, body"
_TAKE = f"""
delete from deltas where number = any(array(
    select number from (
        select deltas.number,
            sum(length(counts)) over (order by deltas.number) - length(counts) as before
        from deltas join cells on cells.number = deltas.cell order by deltas.number limit ?
    ) as oldest where before < ?
)) {_RETURNING}"""  # noqa: S608  (the names in it are fixed)
_TAKE_EPOCH = f"""
delete from deltas where cell in (select number from cells where collection = ? and epoch = ?)
{_RETURNING}"""  # noqa: S608  (the names in it are fixed)
_SIZES = f"""
select number, case {CELL_IS_SEALED} when 1 then tally_size else 0 end as tally_size
from cells where number = any(?)"""  # noqa: S608  (the names in it are fixed)
_WAITING = """
select count(*) as batches, coalesce(min(number), 0) as oldest, coalesce(max(number), 0) as newest
from deltas"""
_ADD = f"""
update cells set n = n + ?, seal = (seal + ?) % {PRIME},
    body = ((body & {BODY_MASK}) + ?) & {BODY_MASK}
where number = ?"""  # noqa: S608  (the names in it are fixed)


class _RemovedDelta(NamedTuple):
    """A delta that was deleted from its table."""

    cell: int
    n: int
    places: bytes | None
    counts: bytes
    seal: int
    body: int


def encode_delta(delta: Counts) -> tuple[bytes | None, bytes]:
    """(places, counts) of a tally: all counts, or only those that are not zero if shorter."""
    [places] = np.nonzero(delta)
    if 12 * len(places) >= 8 * len(delta):
        return None, delta.astype("<i8", copy=False).tobytes()
    return places.astype("<u4").tobytes(), delta[places].astype("<i8", copy=False).tobytes()


def add_delta(total: Counts, places: bytes | None, counts: bytes) -> None:
    """Add an encoded delta in place; does nothing if the delta is damaged.

    The body is added in any case, so it then differs from that of the total.
    """
    with suppress(ValueError, IndexError):
        part = np.frombuffer(counts, "<i8")
        if places is None:
            total += part
        else:
            total[np.frombuffer(places, "<u4")] += part


def fold(db: Statements) -> int:
    """Fold the oldest deltas; returns their number. The caller holds FOLD."""
    return _fold(db, db.execute(_TAKE, (FOLD_DELTAS, FOLD_BYTES)))


def fold_epoch(db: Statements, number: int, epoch: int) -> None:
    """Fold all deltas of one epoch. The caller holds FOLD and has locked out its writers."""
    _fold(db, db.execute(_TAKE_EPOCH, (number, epoch)))


def backlog(db: Statements) -> RollupBacklog:
    """Deltas that are not folded yet."""
    [row] = read_rows(RollupBacklog, db.execute(_WAITING))
    return row


@dataclass(slots=True)
class _Sum:
    tally: Counts
    n: int = 0
    seal: int = 0
    body: int = 0


def _fold(db: Statements, rows: Rows) -> int:
    taken = list(read_rows(_RemovedDelta, rows))
    for cell, total in sorted(_sums(db, taken).items()):
        db.execute(_ADD, (total.n, total.seal % PRIME, total.body & BODY_MASK, cell))
        add_to_pages(db, cell, total.tally)
    return len(taken)


def _sums(db: Statements, taken: Iterable[_RemovedDelta]) -> dict[int, _Sum]:
    cells = sorted({delta.cell for delta in taken})
    sums = {
        row["number"]: _Sum(np.zeros(row["tally_size"], np.int64))
        for row in read_rows(Row, db.execute(_SIZES, (cells,)))
    }
    for delta in taken:
        total = sums[delta.cell]
        total.n += delta.n
        total.seal += delta.seal - seal(0, delta.cell)
        total.body += delta.body
        add_delta(total.tally, delta.places, delta.counts)
    return sums
