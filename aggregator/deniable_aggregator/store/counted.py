"""Counts read back from the database and held against their checksums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable_aggregator.errors import DamagedError
from deniable_aggregator.estimators import Estimator
from deniable_aggregator.store.checksums import CELL_IS_SEALED, body, is_sealed
from deniable_aggregator.store.rows import PAGE_SIZE, Cell, CellTally, Counts, EpochRow
from deniable_aggregator.store.statements import Statements
from deniable_shared.errors import ParameterError

__all__ = ["StoredTally", "epoch_rows", "epochs", "folded", "possible", "tallies", "unsealed_facts"]

_TALLIES = f"""
select cells.number, epoch, manifest_version, cohort, n, tally_size, body,
    {CELL_IS_SEALED}, page, counts
from cells join collections on collections.number = cells.collection
left join pages on pages.cell = cells.number
where collections.id = ? and epoch between ? and ?
order by epoch, manifest_version, cohort, page"""  # noqa: S608
_EPOCHS = f"""
select epoch, sum(n * sealed), max(closed_at), max(expired_at), min(sealed) from (
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
    for number, epoch, version, cohort, n, size, stored_body, sealed, page, counts in db.execute(
        _TALLIES, (collection, first_epoch, last_epoch)
    ):
        if not sealed:  # before its size is believed
            raise DamagedError(collection, epoch)
        if number not in cells:
            cell = Cell(collection, epoch, version, cohort)
            cells[number] = StoredTally(cell, n, np.zeros(size, np.int64), stored_body)
        if counts is not None:
            cells[number].put(page, counts)
    return list(cells.values())


def epochs(db: Statements, collection: str, number: int) -> list[EpochRow]:
    """Epochs with reports or closed, in order."""
    return epoch_rows(collection, db.execute(_EPOCHS, (number,) * 3).fetchall())


def unsealed_facts(db: Statements) -> bool:
    """Whether any row says in damaged numbers which epoch was closed or expired."""
    return bool(db.execute(_UNSEALED_FACTS).fetchall())


def epoch_rows(
    collection: str, rows: Sequence[tuple[int, int, int | None, int | None, int]]
) -> list[EpochRow]:
    """Of (epoch, n, closed_at, expired_at, whether every row is sealed)."""
    damage = next(((collection, epoch) for epoch, *_, sealed in rows if not sealed), None)
    return [
        EpochRow(epoch, n, closed_at, expired_at, damage)
        for epoch, n, closed_at, expired_at, _ in rows
    ]


def possible(estimator: Estimator, row: CellTally) -> CellTally:
    """The cell; raises DamagedError for counts that so many reports cannot give."""
    try:
        estimator.checked(row.tally, row.n)
    except ParameterError as error:
        raise DamagedError(row.cell.collection, row.cell.epoch) from error
    return row
