"""Blocks that were opened and tallied elsewhere: which are done, and what is new in a part.

A tally is a sum, so what was counted before is taken off again:

    tally(new) = tally(part) − tally(reports of the part whose ids were known)
"""

from __future__ import annotations

from collections.abc import Container

from deniable_aggregator.store.contract import Block, Counts, Part, Tally, Verdict
from deniable_aggregator.store.statements import Statements

__all__ = ["done", "new_of", "take", "verdicts_of"]

_TAKE = "insert into counted_blocks (job, block) values (?, ?) on conflict do nothing"
_DONE = "select block from counted_blocks where job = ?"


def take(db: Statements, block: Block) -> bool:
    """Whether this transaction is the one that counts the block for its job."""
    return bool(db.execute(_TAKE, (block.job, block.name)).rowcount)


def done(db: Statements, job: str) -> frozenset[str]:
    """Names of the blocks that a job has counted."""
    return frozenset(name for (name,) in db.execute(_DONE, (job,)).fetchall())


def verdicts_of(part: Part, counted: int) -> dict[tuple[str, Verdict], int]:
    """Of a part of an open epoch."""
    name = part.cell.collection
    return {
        (name, Verdict.COUNTED): counted,
        (name, Verdict.DUPLICATE): len(part.ids) - counted,
    }


def new_of(part: Part, new: Container[bytes], tally: Tally) -> tuple[int, Counts]:
    """How many of the part's reports have an id that is new, and their tally."""
    known = [place for place, report_id in enumerate(part.ids) if report_id not in new]
    if not known:
        return len(part.ids), part.tally
    return len(part.ids) - len(known), part.tally - tally(part.cell, part.payloads[known])
