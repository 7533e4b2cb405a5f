"""What the file holds, as JSON: two heads, the last charges, and how long each open session is.

    ledger     size and head of all charges       charges    the last of them, whole
    log        size and head                      totals     collection → how many charges it has
    audit      size and head of the audit log
    sessions   release → records                  unknown    restored without knowing what is lost
    collections  ids of all that were ever registered here
    owed         those of them that the database lost with charges that could not be charged again
    deletions    how many of the database's deleted manifests were taken out of `collections`

The charges say what a gap has cost, the totals which collections a longer gap concerns. Requests
are left out: their digests are as secret as the tallies, and what is charged anew is another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import audit_log, ledger_rows, transparency_log
from deniable_aggregator.store.ledger_rows import (
    ChainHead,
    extend_head,
    format_epochs,
    parse_epochs,
)
from deniable_aggregator.store.rows import ChargeRow

if TYPE_CHECKING:
    from deniable_aggregator.store.statements import Statements

SPEC = "deniable/heads/1"
RECENT = 256
"""Charges that are kept whole: at least two, the last one and the head before it."""

_EMPTY = ChainHead()


@dataclass(frozen=True, slots=True)
class RecentCharge:
    """A charge without its request; `head` in hex is the ledger's after it."""

    collection: str
    release: str
    terms: str
    epochs: str
    epsilon: str | None
    rho: str | None
    delta: str
    adjacency: str
    created: int
    head: str

    def row(self, release: str, request: bytes) -> ChargeRow:
        """The same cost under another name."""
        return ChargeRow(
            collection=self.collection,
            release=release,
            request=request,
            terms=self.terms.encode(),
            epochs=tuple(parse_epochs(self.epochs)),
            epsilon=self.epsilon,
            rho=self.rho,
            delta=self.delta,
            adjacency=self.adjacency,
            created=self.created,
        )


@dataclass(frozen=True, slots=True)
class Heads:
    """The whole file."""

    ledger: ChainHead = _EMPTY
    log: ChainHead = _EMPTY
    audit: ChainHead = _EMPTY
    charges: tuple[RecentCharge, ...] = ()
    totals: dict[str, int] = field(default_factory=dict)
    sessions: dict[str, int] = field(default_factory=dict)
    unknown: bool = False
    collections: tuple[str, ...] = ()
    owed: tuple[str, ...] = ()
    deletions: int = 0
    spec: str = SPEC

    @property
    def collection_ids(self) -> frozenset[str]:
        """Ids of every collection that this file names; one of an older program has only totals."""
        return frozenset(self.collections).union(self.totals, self.owed)

    def with_charge(self, row: ChargeRow) -> Heads:
        """With one charge more."""
        head = extend_head(bytes.fromhex(self.ledger.head), row).hex()
        more = RecentCharge(
            collection=row.collection,
            release=row.release,
            terms=row.terms.decode(),
            epochs=format_epochs(row.epochs),
            epsilon=row.epsilon,
            rho=row.rho,
            delta=row.delta,
            adjacency=row.adjacency,
            created=row.created,
            head=head,
        )
        return replace(
            self,
            ledger=ChainHead(self.ledger.size + 1, head),
            charges=(*self.charges, more)[-RECENT:],
            totals={**self.totals, row.collection: self.totals.get(row.collection, 0) + 1},
        )

    def encode(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


def parse(data: bytes, where: str) -> Heads:
    """StoreError for anything else: without it a missing charge is not noticed."""
    try:
        heads = msgspec.json.decode(data, type=Heads)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise StoreError(f"{where} is damaged ({error}): put back a copy of it") from error
    if heads.spec != SPEC:
        raise StoreError(f"{where} must be {SPEC}, it is {heads.spec[:40]!r}")
    return heads


def heads_of(db: Statements) -> Heads:
    """What the file beside this database would hold."""
    size, head = transparency_log.head(db)
    acts, last = audit_log.head(db)
    heads = Heads(
        log=ChainHead(size, bytes(head).hex()),
        audit=ChainHead(acts, bytes(last).hex()),
        sessions=ledger_rows.session_sizes(db),
    )
    for row in ledger_rows.ledger(db, 0):
        heads = heads.with_charge(row)
    return heads
