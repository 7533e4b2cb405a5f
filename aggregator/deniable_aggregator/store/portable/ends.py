"""The ends of ledger and log in a database, computed from every row of theirs."""

from __future__ import annotations

from dataclasses import dataclass

from deniable_aggregator.errors import StoreError
from deniable_aggregator.heads.chain import head_of
from deniable_aggregator.heads.document import End, Heads
from deniable_aggregator.store import auditing, journal, releases
from deniable_aggregator.store.statements import Statements
from deniable_shared.journal import GENESIS, LOG_PAGE, extend

__all__ = ["Ends", "ends_of", "heads_of"]


@dataclass(frozen=True, slots=True)
class Ends:
    """Size and head of both chains."""

    ledger: End
    log: End


def ends_of(db: Statements) -> Ends:
    """StoreError where the log's own heads are not those of its entries."""
    size, stored = journal.head(db)
    head, done = GENESIS, 0
    while entries := journal.entries(db, done):
        head, done = extend(head, entries), done + min(len(entries), LOG_PAGE)
    if (done, head) != (size, bytes(stored)):
        raise StoreError(f"the log's {size:,} entries do not lead to the head that it names")
    rows = releases.ledger(db, 0)
    return Ends(End(len(rows), head_of(rows).hex()), End(size, head.hex()))


def heads_of(db: Statements) -> Heads:
    """What a file beside this database would hold."""
    size, head = journal.head(db)
    acts, last = auditing.head(db)
    found = Heads(
        log=End(size, bytes(head).hex()),
        audit=End(acts, bytes(last).hex()),
        sessions=releases.session_sizes(db),
    )
    for row in releases.ledger(db, 0):
        found = found.after(row)
    return found
