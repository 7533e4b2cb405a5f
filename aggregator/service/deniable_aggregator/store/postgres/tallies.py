"""Reads counts and epochs: the cells, and the deltas that are not yet folded into them."""

from __future__ import annotations

from typing import NamedTuple

from deniable_aggregator.base.errors import DamagedError
from deniable_aggregator.store import stored_tallies
from deniable_aggregator.store.checksums import (
    BODY_MASK,
    CELL_IS_SEALED,
    DELTA_IS_SEALED,
    seal_check_sql,
)
from deniable_aggregator.store.postgres import rollup
from deniable_aggregator.store.rows import EpochRow, KeyedTally, TallyKey
from deniable_aggregator.store.statements import Statements, read_rows

_DELTAS = f"""
select epoch, manifest_version, cohort, deltas.n, places, counts, deltas.body,
    {DELTA_IS_SEALED} as sealed
from deltas join cells on cells.number = cell join collections on collections.number = collection
where collections.id = ? and epoch between ? and ?"""  # noqa: S608  (the names in it are fixed)
_EPOCHS = f"""
select epoch, sum(n * sealed)::bigint as n, max(closed_at) as closed_at,
    max(expired_at) as expired_at, min(sealed) as sealed
from (
    select epoch, n, null::bigint as closed_at, null::bigint as expired_at,
        {CELL_IS_SEALED} as sealed
    from cells where collection = ?
    union all
    select epoch, deltas.n, null, null, {DELTA_IS_SEALED}
    from deltas join cells on cells.number = cell where collection = ?
    union all
    select epoch, 0, closed_at, null, {seal_check_sql("closed_at", "collection", "epoch")}
    from closed_epochs where collection = ?
    union all
    select epoch, 0, null, expired_at, {seal_check_sql("expired_at", "collection", "epoch")}
    from expired_epochs where collection = ?
) as totals group by epoch order by epoch"""  # noqa: S608  (the names in it are fixed)


class _Delta(NamedTuple):
    """A delta of one transaction that is not yet folded."""

    epoch: int
    manifest_version: int
    cohort: int
    n: int
    places: bytes | None
    counts: bytes
    body: int
    sealed: int


def tallies(db: Statements, collection: str, first_epoch: int, last_epoch: int) -> list[KeyedTally]:
    """Folded and waiting counts, in the snapshot of the caller's transaction.

    Raises DamagedError if a cell or a delta differs from its checksums.
    """
    rows = stored_tallies.read_cells(db, collection, first_epoch, last_epoch)
    row_of = {row.key: row for row in rows}
    deltas = db.execute(_DELTAS, (collection, first_epoch, last_epoch))
    for delta in read_rows(_Delta, deltas):
        if not delta.sealed:
            raise DamagedError(collection, delta.epoch)
        row = row_of[TallyKey(collection, delta.epoch, delta.manifest_version, delta.cohort)]
        rollup.add_delta(row.tally, delta.places, delta.counts)
        row.n += delta.n
        row.stored_body = (row.stored_body + delta.body) & BODY_MASK
    return [row.checked() for row in rows]


def epochs(db: Statements, collection: str, number: int) -> list[EpochRow]:
    """Epochs with reports or closed, in order."""
    return stored_tallies.epoch_rows(collection, db.execute(_EPOCHS, (number,) * 4))
