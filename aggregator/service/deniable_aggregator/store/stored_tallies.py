"""Tallies in the database: stored in pages, and compared with their checksums when read.

A page has PAGE_SIZE counts; pages of zeros are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable_aggregator.base.errors import DamagedError
from deniable_aggregator.store.checksums import BODY_MASK, CELL_IS_SEALED, body, seal_check_sql
from deniable_aggregator.store.rows import PAGE_SIZE, Counts, EpochRow, KeyedTally, TallyKey
from deniable_aggregator.store.statements import Rows, Statements, read_rows
from deniable_shared.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deniable_estimators.inference.protocols import Estimator

_TALLIES = f"""
select cells.number, epoch, manifest_version, cohort, n, tally_size, body,
    {CELL_IS_SEALED} as sealed, page, counts
from cells join collections on collections.number = cells.collection
left join pages on pages.cell = cells.number
where collections.id = ? and epoch between ? and ?
order by epoch, manifest_version, cohort, page"""  # noqa: S608  (the names in it are fixed)
_EPOCHS = f"""
select epoch, sum(n * sealed) as n, max(closed_at) as closed_at, max(expired_at) as expired_at,
    min(sealed) as sealed
from (
    select epoch, n, null as closed_at, null as expired_at, {CELL_IS_SEALED} as sealed
    from cells where collection = ?
    union all
    select epoch, 0, closed_at, null, {seal_check_sql("closed_at", "collection", "epoch")}
    from closed_epochs where collection = ?
    union all
    select epoch, 0, null, expired_at, {seal_check_sql("expired_at", "collection", "epoch")}
    from expired_epochs where collection = ?
) group by epoch order by epoch"""  # noqa: S608  (the names in it are fixed)


_UNSEALED_FACTS = f"""
select 1 from closed_epochs where {seal_check_sql("closed_at", "collection", "epoch")} = 0
union all
select 1 from expired_epochs where {seal_check_sql("expired_at", "collection", "epoch")} = 0
limit 1"""  # noqa: S608  (the names in it are fixed)


class _CellPage(NamedTuple):
    """A page of a cell, or a cell without pages."""

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


class _EpochTotals(NamedTuple):
    """The totals of all rows of an epoch."""

    epoch: int
    n: int
    closed_at: int | None
    expired_at: int | None
    sealed: int


@dataclass(slots=True, eq=False)
class UncheckedTally:
    """A cell while it is read; `stored_body` is the body of its tally in the database."""

    key: TallyKey
    n: int
    tally: Counts
    stored_body: int
    fits: bool = True

    def put(self, page: int, counts: object) -> None:
        """Add the counts of a page."""
        part = self.tally[page * PAGE_SIZE : (page + 1) * PAGE_SIZE]
        if page < 0 or not isinstance(counts, bytes) or len(counts) != part.nbytes:
            self.fits = False
        else:
            part[:] = np.frombuffer(counts, "<i8")

    def checked(self) -> KeyedTally:
        """Raises DamagedError if the tally is not the one of the stored body."""
        if not self.fits or body(self.tally) != self.stored_body:
            raise DamagedError(self.key.collection, self.key.epoch)
        return KeyedTally(self.key, self.n, self.tally)


def tallies(db: Statements, collection: str, first_epoch: int, last_epoch: int) -> list[KeyedTally]:
    """The cells of these epochs, read by one statement, so that n and pages match.

    Raises DamagedError if a cell differs from its checksums.
    """
    rows = read_cells(db, collection, first_epoch, last_epoch)
    return [row.checked() for row in rows]


def read_cells(
    db: Statements, collection: str, first_epoch: int, last_epoch: int
) -> list[UncheckedTally]:
    """The cells with their pages. Raises DamagedError for a row with a wrong seal."""
    cells: dict[int, UncheckedTally] = {}
    rows = db.execute(_TALLIES, (collection, first_epoch, last_epoch))
    for row in read_rows(_CellPage, rows):
        if not row.sealed:  # before its size is used
            raise DamagedError(collection, row.epoch)
        if row.number not in cells:
            cell = TallyKey(collection, row.epoch, row.manifest_version, row.cohort)
            tally = np.zeros(row.tally_size, np.int64)
            cells[row.number] = UncheckedTally(cell, row.n, tally, row.body)
        if row.counts is not None:
            cells[row.number].put(row.page, row.counts)
    return list(cells.values())


def epochs(db: Statements, collection: str, number: int) -> list[EpochRow]:
    """Epochs with reports or closed, in order."""
    return epoch_rows(collection, db.execute(_EPOCHS, (number,) * 3))


def has_unsealed_epochs(db: Statements) -> bool:
    """Whether any row of a closed or expired epoch is damaged."""
    return bool(db.execute(_UNSEALED_FACTS).fetchall())


def epoch_rows(collection: str, rows: Rows) -> list[EpochRow]:
    """Epochs from rows of epoch, n, closed_at, expired_at, and whether every row is sealed."""
    totals = list(read_rows(_EpochTotals, rows))
    damage = next(((collection, row.epoch) for row in totals if not row.sealed), None)
    return [EpochRow(row.epoch, row.n, row.closed_at, row.expired_at, damage) for row in totals]


def require_possible(estimator: Estimator, row: KeyedTally) -> KeyedTally:
    """The cell. Raises DamagedError for counts that are impossible for its number of reports."""
    try:
        estimator.checked(row.tally, row.n)
    except ParameterError as error:
        raise DamagedError(row.key.collection, row.key.epoch) from error
    return row


_READ_PAGE = "select counts from pages where cell = ? and page = ?"
_WRITE_PAGE = """
insert into pages (cell, page, counts) values (?, ?, ?)
on conflict (cell, page) do update set counts = excluded.counts"""


def add_to_pages(db: Statements, cell: int, delta: Counts) -> None:
    """Add a tally to a cell's pages. The caller holds the lock of the cell."""
    add_pages(db, cell, changed_pages(delta))


def add_pages(db: Statements, cell: int, pages: Iterable[tuple[int, Counts]]) -> None:
    """Add pages to a cell. A page of wrong length starts from zero; the body then differs."""
    for page, part in pages:
        stored = db.execute(_READ_PAGE, (cell, page)).fetchone()
        fits = stored is not None and len(stored[0]) == part.nbytes
        total = part + np.frombuffer(stored[0], "<i8") if fits else part
        db.execute(_WRITE_PAGE, (cell, page, total.astype("<i8", copy=False).tobytes()))


def body_of_pages(pages: Iterable[tuple[int, Counts]]) -> int:
    """The body of a tally from its changed pages; counts of other pages are 0."""
    return sum(body(part, page) for page, part in pages) & BODY_MASK


def changed_pages(delta: Counts) -> Iterator[tuple[int, Counts]]:
    """Number and counts of each page that is not zero."""
    for page, start in enumerate(range(0, len(delta), PAGE_SIZE)):
        part = delta[start : start + PAGE_SIZE]
        if part.any():
            yield page, part
