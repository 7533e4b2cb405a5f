"""The roll-up: deltas leave, what they hold is added to the cells, in one transaction.

Who folds holds the lock FOLD, so that nobody else changes n and pages meanwhile. Writers append as
they like: a delta they have not committed is not seen, and is folded another time. Folding any of
them in any order gives the same sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from deniable_aggregator.store.checksums import BODY_MASK, CELL_IS_SEALED, PRIME, seal
from deniable_aggregator.store.counting import add_to_pages
from deniable_aggregator.store.rows import Counts, Waiting
from deniable_aggregator.store.statements import Statements

__all__ = ["FOLD_DELTAS", "add", "fold", "fold_epoch", "spelled", "waiting"]

FOLD_DELTAS = 2_000
FOLD_BYTES = 1 << 26
"""At most so much is folded in one transaction, but at least one delta."""

_TAKEN = "returning cell, n, places, counts, seal, body"
_TAKE = f"""
delete from deltas where number = any(array(
    select number from (
        select deltas.number,
            sum(length(counts)) over (order by deltas.number) - length(counts) as before
        from deltas join cells on cells.number = deltas.cell order by deltas.number limit ?
    ) as oldest where before < ?
)) {_TAKEN}"""  # noqa: S608
_TAKE_EPOCH = f"""
delete from deltas where cell in (select number from cells where collection = ? and epoch = ?)
{_TAKEN}"""  # noqa: S608
_SIZES = f"""
select number, case {CELL_IS_SEALED} when 1 then tally_size else 0 end
from cells where number = any(?)"""  # noqa: S608
_WAITING = """
select count(*), coalesce(min(number), 0), coalesce(max(number), 0) from deltas"""
_ADD = f"""
update cells set n = n + ?, seal = (seal + ?) % {PRIME},
    body = ((body & {BODY_MASK}) + ?) & {BODY_MASK}
where number = ?"""  # noqa: S608

Taken = tuple[int, int, bytes | None, bytes, int, int]


def spelled(delta: Counts) -> tuple[bytes | None, bytes]:
    """(places, counts) of a tally: the whole of it, or what is not zero if that is shorter."""
    [places] = np.nonzero(delta)
    if 12 * len(places) >= 8 * len(delta):
        return None, delta.astype("<i8", copy=False).tobytes()
    return places.astype("<u4").tobytes(), delta[places].astype("<i8", copy=False).tobytes()


def add(total: Counts, places: bytes | None, counts: bytes) -> None:
    """Add what `spelled` gave, in place; nothing where damage makes that impossible.

    The body, which is added whatever the counts are, then differs from that of the total.
    """
    with suppress(ValueError, IndexError):
        part = np.frombuffer(counts, "<i8")
        if places is None:
            total += part
        else:
            total[np.frombuffer(places, "<u4")] += part


def fold(db: Statements) -> int:
    """Fold the oldest deltas; how many they were. The caller holds FOLD."""
    return _fold(db, db.execute(_TAKE, (FOLD_DELTAS, FOLD_BYTES)).fetchall())


def fold_epoch(db: Statements, number: int, epoch: int) -> None:
    """Fold all of one epoch. The caller holds FOLD, and has locked writers of the epoch out."""
    _fold(db, db.execute(_TAKE_EPOCH, (number, epoch)).fetchall())


def waiting(db: Statements) -> Waiting:
    """Deltas that are not folded yet."""
    return Waiting(*db.execute(_WAITING).fetchone())


@dataclass(slots=True)
class _Sum:
    tally: Counts
    n: int = 0
    seal: int = 0
    body: int = 0


def _fold(db: Statements, taken: list[Taken]) -> int:
    for cell, total in sorted(_sums(db, taken).items()):
        db.execute(_ADD, (total.n, total.seal % PRIME, total.body & BODY_MASK, cell))
        add_to_pages(db, cell, total.tally)
    return len(taken)


def _sums(db: Statements, taken: Iterable[Taken]) -> dict[int, _Sum]:
    cells = sorted({cell for cell, *_ in taken})
    sums = {cell: _Sum(np.zeros(size, np.int64)) for cell, size in db.execute(_SIZES, (cells,))}
    for cell, n, places, counts, stored_seal, stored_body in taken:
        sums[cell].n += n
        sums[cell].seal += stored_seal - seal(0, cell)
        sums[cell].body += stored_body
        add(sums[cell].tally, places, counts)
    return sums
