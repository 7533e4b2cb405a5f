"""Reports for a store, without keys, manifests or HTTP."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable_aggregator.store import transparency_log
from deniable_aggregator.store.protocols import Store
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_shared.wire.transparency_log import LogEntry
from support.builders.databases import COLLECTION, Database, manifest_row, register

__all__ = [
    "COLLECTION",
    "EPOCH",
    "EVERY_EPOCH",
    "append_log",
    "arrival",
    "arrivals",
    "counted",
    "ids_kept",
    "manifest_row",
    "register",
    "report_id",
    "rows",
    "sums",
    "vouched",
]

EPOCH = 20_000
EVERY_EPOCH = (0, 2**32 - 1)


def report_id(number: int) -> bytes:
    return sha256(b"%d" % number).digest()[:16]


def arrival(
    number: int,
    payload: bytes = b"\x01",
    *,
    epoch: int = EPOCH,
    version: int = 1,
    collection: str = COLLECTION,
    voucher: int | None = None,
) -> AcceptedReport:
    """Report `number`; its payload is a row of small integers that `sums` adds up.

    With `voucher` it carries the serial of that number.
    """
    serial = None if voucher is None else sha256(b"voucher %d" % voucher).digest()[:16]
    return AcceptedReport(TallyKey(collection, epoch, version), report_id(number), payload, serial)


def vouched(numbers: Iterable[int], *, offset: int = 0, epoch: int = EPOCH) -> list[AcceptedReport]:
    """Reports of these people: of another `offset` other reports with the same vouchers."""
    return [arrival(number + offset, voucher=number, epoch=epoch) for number in numbers]


def arrivals(
    numbers: Iterable[int], payload: bytes = b"\x01", *, epoch: int = EPOCH
) -> list[AcceptedReport]:
    return [arrival(number, payload, epoch=epoch) for number in numbers]


def sums(cell: TallyKey, payloads: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """A kernel: one integer of the tally for each byte of the payload."""
    return np.asarray(payloads.sum(axis=0, dtype=np.int64))


def counted(store: Store, collection: str = COLLECTION) -> dict[int, tuple[int, list[int]]]:
    """Epoch → (n, tally), all versions and cohorts together."""
    actual: dict[int, tuple[int, list[int]]] = {}
    for row in store.tallies(collection, *EVERY_EPOCH):
        n, tally = actual.get(row.key.epoch, (0, [0] * len(row.tally)))
        added = [a + b for a, b in zip(tally, row.tally.tolist(), strict=True)]
        actual[row.key.epoch] = (n + row.n, added)
    return actual


def append_log(store: Any, entry_type: str, body_hash: bytes) -> None:
    """An entry of the log that nothing in the store belongs to."""
    with store._connections.write() as db:
        transparency_log.append(db, LogEntry(entry_type, body_hash))


def ids_kept(database: Database) -> int:
    """How many report ids the database holds."""
    return rows(database, "seen")


def rows(database: Database, table: str) -> int:
    """How many rows a table of the database has."""
    return len(database.execute(f"select 1 from {table}"))  # noqa: S608  (the names in it are fixed)
