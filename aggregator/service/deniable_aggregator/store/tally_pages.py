"""The pages that a tally is stored in: PAGE_SIZE counts each; pages of zeros are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from deniable_aggregator.store.checksums import BODY_MASK, body
from deniable_aggregator.store.rows import PAGE_SIZE, Counts
from deniable_aggregator.store.statements import Statements

_READ_PAGE = "select counts from pages where cell = ? and page = ?"
_WRITE_PAGE = """
insert into pages (cell, page, counts) values (?, ?, ?)
on conflict (cell, page) do update set counts = excluded.counts"""


def add_to_pages(db: Statements, cell: int, delta: Counts) -> None:
    """Add a tally to a cell's pages. The caller holds the lock that keeps others from doing so."""
    add_pages(db, cell, changed_pages(delta))


def add_pages(db: Statements, cell: int, pages: Iterable[tuple[int, Counts]]) -> None:
    """A page whose length is wrong is begun again: the cell's body shows what is missing then."""
    for page, part in pages:
        stored = db.execute(_READ_PAGE, (cell, page)).fetchone()
        fits = stored is not None and len(stored[0]) == part.nbytes
        total = part + np.frombuffer(stored[0], "<i8") if fits else part
        db.execute(_WRITE_PAGE, (cell, page, total.astype("<i8", copy=False).tobytes()))


def body_of_pages(pages: Iterable[tuple[int, Counts]]) -> int:
    """The body of a tally from the pages that it changes: the others have counts of 0."""
    return sum(body(part, page) for page, part in pages) & BODY_MASK


def changed_pages(delta: Counts) -> Iterator[tuple[int, Counts]]:
    """The pages that change."""
    for page, start in enumerate(range(0, len(delta), PAGE_SIZE)):
        part = delta[start : start + PAGE_SIZE]
        if part.any():
            yield page, part
