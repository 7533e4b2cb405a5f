"""The ledger as a chain of hashes, like the log's.

    head after a charge = SHA-256(head before ‖ SHA-256(canonical JSON of the charge))

at first 32 zero bytes. The JSON holds every column, so that two ledgers with one head are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from deniable_aggregator.store.ledger_rows import format_epochs
from deniable_aggregator.store.rows import ChargeRow
from deniable_shared.wire.canonical import canonical_json
from deniable_shared.wire.transparency_log import GENESIS


@dataclass(frozen=True, slots=True)
class ChainHead:
    """How many there are, and the head in hex."""

    size: int = 0
    head: str = GENESIS.hex()


def extend_head(head: bytes, row: ChargeRow) -> bytes:
    """The head after one charge more."""
    return sha256(head + _digest(row)).digest()


def ledger_head(rows: Iterable[ChargeRow]) -> bytes:
    """The head of a ledger from its beginning."""
    head = GENESIS
    for row in rows:
        head = extend_head(head, row)
    return head


def _digest(row: ChargeRow) -> bytes:
    return sha256(
        canonical_json(
            {
                "collection": row.collection,
                "release": row.release,
                "request": row.request.hex(),
                "terms": row.terms.hex(),
                "epochs": format_epochs(row.epochs),
                "epsilon": row.epsilon,
                "rho": row.rho,
                "delta": row.delta,
                "adjacency": row.adjacency,
                "created": row.created,
            }
        )
    ).digest()
