"""The ends of ledger and log in a database, computed from every row of theirs."""

from __future__ import annotations

from dataclasses import dataclass

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import ledger_rows, transparency_log
from deniable_aggregator.store.ledger_chain import ChainHead, ledger_head
from deniable_aggregator.store.statements import Statements
from deniable_shared.wire.transparency_log import GENESIS, LOG_PAGE, extend


@dataclass(frozen=True, slots=True)
class ChainHeads:
    """Size and head of both chains."""

    ledger: ChainHead
    log: ChainHead


def read_chain_heads(db: Statements) -> ChainHeads:
    """StoreError where the log's own heads are not those of its entries."""
    size, stored = transparency_log.head(db)
    head, done = GENESIS, 0
    while entries := transparency_log.entries(db, done):
        head, done = extend(head, entries), done + min(len(entries), LOG_PAGE)
    if (done, head) != (size, bytes(stored)):
        raise StoreError(f"the log's {size:,} entries do not lead to the head that it names")
    rows = ledger_rows.ledger(db, 0)
    return ChainHeads(ChainHead(len(rows), ledger_head(rows).hex()), ChainHead(size, head.hex()))
