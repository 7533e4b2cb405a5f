"""Counts read back from the database and held against their checksums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deniable_aggregator.errors import DamagedError
from deniable_aggregator.estimators import Estimator
from deniable_aggregator.store.checksums import CELL_IS_SEALED, body, is_sealed
from deniable_aggregator.store.rows import PAGE_SIZE, Cell, CellTally, Counts, EpochRow
from deniable_aggregator.store.statements import Rows, Statements, named
from deniable_shared.errors import ParameterError

_TALLIES = f"""
select cells.number, epoch, manifest_version, cohort, n, tally_size, body,
    {CELL_IS_SEALED} as sealed, page, counts
from cells join collections on collections.number = cells.collection
left join pages on pages.cell = cells.number
where collections.id = ? and epoch between ? and ?
order by epoch, manifest_version, cohort, page"""  # noqa: S608
_EPOCHS = f"""
select epoch, sum(n * sealed) as n, max(closed_at) as closed_at, max(expired_at) as expired_at,
    min(sealed) as sealed
from (
    select epoch, n, null as closed_at, null as expired_at, {CELL_IS_SEALED} as sealed
    from cells where collection = ?
    union all
    select epoch, 0, closed_at, null, {is_sealed("closed_at", "collection", "epoch")}
    from closed_epochs where collection = ?
    union all
    select epoch, 0, null, expired_at, {is_sealed("expired_at", "collection", "epoch")}
    from expired_epochs where collection = ?
) group by epoch order by epoch"""  # noqa: S608


_UNSEALED_FACTS = f"""
select 1 from closed_epochs where {is_sealed("closed_at", "collection", "epoch")} = 0
union all
select 1 from expired_epochs where {is_sealed("expired_at", "collection", "epoch")} = 0
limit 1"""  # noqa: S608


class _Folded(NamedTuple):
    """A page of a cell, or a cell that has none."""

    number: int
    epoch: int
    manifest_version: int
    cohort: int
    n: int
    tally_size: int
    body: int
    sealed: int
    page: int
    counts: object


class _Epoch(NamedTuple):
    """What all rows of an epoch say together."""

    epoch: int
    n: int
    closed_at: int | None
    expired_at: int | None
    sealed: int


@dataclass(slots=True, eq=False)
class StoredTally:
    """A cell while it is read; `stored_body` is the body that the database has for its tally."""

    cell: Cell
    n: int
    tally: Counts
    stored_body: int
    fits: bool = True

    def put(self, page: int, counts: object) -> None:
        """Take what a page holds."""
        place = self.tally[page * PAGE_SIZE : (page + 1) * PAGE_SIZE]
        if page < 0 or not isinstance(counts, bytes) or len(counts) != place.nbytes:
            self.fits = False
        else:
            place[:] = np.frombuffer(counts, "<i8")

    def checked(self) -> CellTally:
        """Raises DamagedError where the tally is not the one of the stored body."""
        if not self.fits or body(self.tally) != self.stored_body:
            raise DamagedError(self.cell.collection, self.cell.epoch)
        return CellTally(self.cell, self.n, self.tally)


def tallies(db: Statements, collection: str, first_epoch: int, last_epoch: int) -> list[CellTally]:
    """One statement, hence one snapshot: n and pages always fit each other.

    Raises DamagedError where a cell differs from its checksums.
    """
    found = folded(db, collection, first_epoch, last_epoch)
    return [row.checked() for row in found]


def folded(db: Statements, collection: str, first_epoch: int, last_epoch: int) -> list[StoredTally]:
    """The cells with what their pages hold; raises DamagedError for a row that is not sealed."""
    cells: dict[int, StoredTally] = {}
    found = db.execute(_TALLIES, (collection, first_epoch, last_epoch))
    for row in named(_Folded, found):
        if not row.sealed:  # before its size is believed
            raise DamagedError(collection, row.epoch)
        if row.number not in cells:
            cell = Cell(collection, row.epoch, row.manifest_version, row.cohort)
            tally = np.zeros(row.tally_size, np.int64)
            cells[row.number] = StoredTally(cell, row.n, tally, row.body)
        if row.counts is not None:
            cells[row.number].put(row.page, row.counts)
    return list(cells.values())


def epochs(db: Statements, collection: str, number: int) -> list[EpochRow]:
    """Epochs with reports or closed, in order."""
    return epoch_rows(collection, db.execute(_EPOCHS, (number,) * 3))


def unsealed_facts(db: Statements) -> bool:
    """Whether any row says in damaged numbers which epoch was closed or expired."""
    return bool(db.execute(_UNSEALED_FACTS).fetchall())


def epoch_rows(collection: str, found: Rows) -> list[EpochRow]:
    """Of epoch, n, closed_at, expired_at, and whether every row is sealed."""
    rows = list(named(_Epoch, found))
    damage = next(((collection, row.epoch) for row in rows if not row.sealed), None)
    return [EpochRow(row.epoch, row.n, row.closed_at, row.expired_at, damage) for row in rows]


def possible(estimator: Estimator, row: CellTally) -> CellTally:
    """The cell; raises DamagedError for counts that so many reports cannot give."""
    try:
        estimator.checked(row.tally, row.n)
    except ParameterError as error:
        raise DamagedError(row.cell.collection, row.cell.epoch) from error
    return row
