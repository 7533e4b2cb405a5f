"""Blocks that were opened and tallied elsewhere: which are done, and what is new in them.

A tally is a sum, so what was counted before is taken off again:

    tally(new) = tally(part) − tally(reports of the part whose ids were known)

One transaction counts many blocks: random ids touch a page of the index each, and pages are
written once a transaction. Of an id that several of its blocks hold the first block counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from itertools import chain

from deniable_aggregator.store.rows import Block, Cell, Counts, Part, Tally, Verdict
from deniable_aggregator.store.statements import Statements

Place = tuple[int, int]
"""(number of a collection, epoch): what ids are told apart in, and what closes."""

_TAKE = "insert into counted_blocks (job, block) values (?, ?) on conflict do nothing"
_DONE = "select block from counted_blocks where job = ?"


def done(db: Statements, job: str) -> frozenset[str]:
    """Names of the blocks that a job has counted."""
    return frozenset(name for (name,) in db.execute(_DONE, (job,)).fetchall())


class Group:
    """The blocks of one transaction: `verdicts` for each of them, `fresh` for each cell."""

    def __init__(
        self,
        db: Statements,
        numbers: Mapping[str, int],
        found: Sequence[tuple[Block, Sequence[Part]]],
    ) -> None:
        """Take those that no transaction has counted; the others get None for verdicts."""
        self.verdicts: list[Counter[tuple[str, Verdict]] | None] = []
        self.fresh: dict[Cell, tuple[int, Counts]] = {}
        self._parts: dict[Place, list[tuple[Counter[tuple[str, Verdict]], Part]]] = {}
        for block, parts in found:
            if not db.execute(_TAKE, (block.job, block.name)).rowcount:
                self.verdicts.append(None)
                continue
            verdicts: Counter[tuple[str, Verdict]] = Counter()
            self.verdicts.append(verdicts)
            for part in parts:
                place = (numbers[part.cell.collection], part.cell.epoch)
                self._parts.setdefault(place, []).append((verdicts, part))

    @property
    def places(self) -> list[Place]:
        """Where the reports belong, in the one order in which all transactions take them."""
        return sorted(self._parts)

    def ids(self, place: Place) -> list[bytes]:
        """Rising, each once."""
        return sorted(set(chain.from_iterable(part.ids for _, part in self._parts[place])))

    def refuse(self, place: Place) -> None:
        """The place is closed: nothing there counts."""
        for verdicts, part in self._parts[place]:
            verdicts[part.cell.collection, Verdict.CLOSED] += len(part.ids)

    def admit(self, place: Place, new: Collection[bytes], tally: Tally) -> None:
        """Count the reports with these ids, which the transaction has just inserted."""
        parts = self._parts[place]
        whole = len(new) == sum(len(part.ids) for _, part in parts)
        left = set() if whole else set(new)
        for verdicts, part in parts:
            n, delta = (len(part.ids), part.tally) if whole else _new_of(part, left, tally)
            left.difference_update(() if whole else part.ids)
            verdicts[part.cell.collection, Verdict.COUNTED] += n
            verdicts[part.cell.collection, Verdict.DUPLICATE] += len(part.ids) - n
            self._add(part.cell, n, delta)

    def _add(self, cell: Cell, n: int, delta: Counts) -> None:
        if n:
            before = self.fresh.get(cell)
            self.fresh[cell] = (n, delta) if before is None else (before[0] + n, before[1] + delta)


def _new_of(part: Part, new: Container[bytes], tally: Tally) -> tuple[int, Counts]:
    """How many of the part's reports have an id that is new, and their tally."""
    known = [place for place, report_id in enumerate(part.ids) if report_id not in new]
    if not known:
        return len(part.ids), part.tally
    return len(part.ids) - len(known), part.tally - tally(part.cell, part.payloads[known])
