"""The content of heads.json: heads, the last charges, and the length of each open session.

    ledger     size and head of all charges       charges    the last of them, whole
    log        size and head                      totals     collection → how many charges it has
    audit      size and head of the audit log
    sessions   release → records                  unknown    restored without knowing what is lost
    collections  ids of all collections ever registered here
    owed         lost collections whose charges could not be added again
    deletions    how many of the database's deleted manifests were taken out of `collections`

The charges are the cost of a gap; the totals show the collections of a longer gap. Requests are
left out: their digests are as secret as the tallies, and a charge that is added again has another.
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
"""Number of complete charges in the file: at least the last one and the head before it."""

_EMPTY = ChainHead()


@dataclass(frozen=True, slots=True)
class RecentCharge:
    """A charge without its request; `head` in hex is the head of the ledger after it."""

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
        """A charge with the same cost under another name."""
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
    """The whole content of the file."""

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
        """Ids of all collections in the file; a file of an older program has only totals."""
        return frozenset(self.collections).union(self.totals, self.owed)

    def with_charge(self, row: ChargeRow) -> Heads:
        """The heads with one more charge."""
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
    """Raises StoreError for anything else: without it a missing charge is not noticed."""
    try:
        heads = msgspec.json.decode(data, type=Heads)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise StoreError(f"{where} is damaged ({error}): put back a copy of it") from error
    if heads.spec != SPEC:
        raise StoreError(f"{where} must be {SPEC}, it is {heads.spec[:40]!r}")
    return heads


def heads_of(db: Statements) -> Heads:
    """The heads of this database, as the file should have them."""
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
