"""What a store keeps and promises; SQLite and PostgreSQL pass one and the same test-suite.

A store holds counts and never a report. `commit` is the only way in: ids and counts change in one
transaction or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from deniable_aggregator.access.contract import AccessStore
from deniable_aggregator.errors import DamagedError
from deniable_aggregator.store.collected import Collections
from deniable_aggregator.store.maintenance import Maintenance
from deniable_aggregator.store.spooled import Spools
from deniable_shared.journal import GENESIS, LOG_PAGE, LogEntry

__all__ = [
    "GENESIS",
    "LOG_PAGE",
    "PAGE_SIZE",
    "Arrival",
    "Block",
    "Cell",
    "CellTally",
    "ChargeRow",
    "Decide",
    "EpochRow",
    "KeyListRow",
    "LogEntry",
    "ManifestRow",
    "Part",
    "ResultRow",
    "ShownCollection",
    "ShownEpoch",
    "ShownEstimate",
    "Store",
    "Tally",
    "Verdict",
    "Waiting",
]

PAGE_SIZE = 4096
"""Integers in one page of a tally: one report in a long vector rewrites 32 KiB, not all of it."""

Payloads = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]


class Cell(NamedTuple):
    """The finest thing that is counted: reports of one epoch under one manifest, in one cohort."""

    collection: str
    epoch: int
    manifest_version: int
    cohort: int = 0


Tally = Callable[[Cell, Payloads], Counts]
"""The estimator's kernel: (n, payload_size) uint8 of one cell -> int64[tally_size]."""


class Arrival(NamedTuple):
    """An opened, valid report on its way into a cell, and its voucher's serial; never stored."""

    cell: Cell
    report_id: bytes
    payload: bytes
    serial: bytes | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a spool, which a job counts once."""

    job: str
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Opened, valid reports of one cell from one block, and their tally.

    No (collection, epoch, id) is in two parts of a block, or twice in one.
    """

    cell: Cell
    ids: Sequence[bytes]
    payloads: Payloads
    tally: Counts


class Verdict(StrEnum):
    """COUNTED alone changed a number; a DUPLICATE was before; another's voucher is SPENT."""

    __hash__ = str.__hash__  # an Enum's own is a call of Python for each report

    COUNTED = "counted"
    DUPLICATE = "duplicate"
    SPENT = "spent"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, eq=False)
class CellTally:
    """A cell's reports and their tally, int64[tally_size]."""

    cell: Cell
    n: int
    tally: Counts


@dataclass(frozen=True, slots=True)
class EpochRow:
    """Reports of one epoch over all its cells; times in unix seconds.

    Once `expired_at` is there, its tallies are gone and n is 0. `damage` is the collection and
    epoch of a damaged row. Every row of the collection has it: that epoch may be what is wrong.
    """

    epoch: int
    stored: int
    closed_at: int | None
    expired_at: int | None = None
    damage: tuple[str, int] | None = None

    @property
    def n(self) -> int:
        """Reports. Raises DamagedError where the stored number cannot be trusted."""
        if self.damage is not None:
            raise DamagedError(*self.damage)
        return self.stored


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """One registered version; `envelope` holds the DSSE bytes as they came."""

    collection: str
    version: int
    name: str
    digest: bytes
    envelope: bytes


@dataclass(frozen=True, slots=True)
class KeyListRow:
    """One signed key list; `digest` is the SHA-256 of its body, times in unix seconds."""

    version: int
    issued: int
    expires: int
    digest: bytes
    envelope: bytes


@dataclass(frozen=True, slots=True)
class ChargeRow:
    """What a release was charged: exact rationals as texts, "1/2", None where nothing is claimed.

    `request` is the digest of what was asked, as secret as the tallies; `terms` are its public
    words; `epochs` ascend; `created` in unix seconds.
    """

    collection: str
    release: str
    request: bytes
    terms: bytes
    epochs: tuple[int, ...]
    epsilon: str | None
    rho: str | None
    delta: str
    adjacency: str
    created: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """Batches that wait for the roll-up, and the numbers of the first and the last of them."""

    batches: int = 0
    oldest: int = 0
    newest: int = 0


Decide = Callable[[Sequence[ChargeRow]], None]
"""Returns if one more charge is admitted beside those given, oldest first, or raises."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """What is shown of a release; `position` is that of its log entry, from 1, once it is kept."""

    release: str
    salt: bytes
    document: bytes
    position: int | None = None


@dataclass(frozen=True, slots=True)
class ShownCollection:
    """What the SQL views know of its newest manifest."""

    name: str
    read: str
    epoch_seconds: int


class ShownEstimate(NamedTuple):
    """One label of one epoch, as the API answers; None where that says null."""

    label: str
    frequency: float | None
    std_error: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class ShownEpoch:
    """What the SQL views show of a closed epoch; `maker` names what it was made by."""

    epoch: int
    maker: str
    n: int = 0
    confidence: float = 0.95
    rows: tuple[ShownEstimate, ...] = ()


class Store(AccessStore, Collections, Maintenance, Spools, Protocol):
    """Thread-safe. What writes is durable when it returns, or raises having changed nothing.

    An operation that loses its connection while the database commits raises too, and may have been
    done: repeating it counts nothing twice and charges nothing twice.
    """

    def waiting(self) -> Waiting:
        """What `roll_up` has before it. Batches are numbered in about the order they came."""

    def roll_up(self) -> int:
        """Fold what `commit` appended into the counts; how many batches still wait (the lag)."""

    def commit(self, arrivals: Sequence[Arrival], tally: Tally) -> list[Verdict]:
        """Count the ids that are new, in one transaction that re-reads which epochs are closed.

        Serials are redeemed in the same transaction. One verdict an arrival, in order.
        """

    def commit_blocks(
        self, found: Sequence[tuple[Block, Sequence[Part]]], tally: Tally
    ) -> Sequence[Mapping[tuple[str, Verdict], int] | None]:
        """The same for blocks that were tallied elsewhere, all in one transaction, in their order.

        What is known already is taken off the tallies that came along. For each block its reports
        by (collection, verdict); None, and nothing of it, if it was counted before.
        """

    def blocks(self, job: str) -> frozenset[str]:
        """Names of the blocks that a job has counted."""
        ...

    def tallies(self, collection: str, first_epoch: int, last_epoch: int) -> list[CellTally]:
        """Cells of the epochs first..last (inclusive), one snapshot, ordered by cell."""
        ...

    def epochs(self, collection: str) -> list[EpochRow]:
        """Epochs that have reports or are closed, in order."""
        ...

    def close_epoch(self, collection: str, epoch: int, now: float) -> bool:
        """For good: refuse reports, delete ids and serials, freeze counts. False if it was."""
        ...

    def expire_epoch(self, collection: str, epoch: int, now: float) -> bool:
        """Delete the counts of a closed epoch, for good. False if they were deleted before.

        StoreError for an epoch that is open.
        """
        ...

    def shown_collection(self, collection: str) -> ShownCollection | None: ...

    def show_collection(self, collection: str, shown: ShownCollection) -> None:
        """To the SQL views, in place of what they had."""
        ...

    def shown_epochs(self, collection: str) -> dict[int, str]:
        """Epoch → maker of what the SQL views show of it."""
        ...

    def show_epoch(self, collection: str, shown: ShownEpoch) -> bool:
        """In place of what they had. False, and they have nothing, unless it is closed and kept."""
        ...

    def is_closed(self, collection: str, epoch: int) -> bool: ...

    def count_rejections(self, collection: str, counts: Mapping[str, int]) -> None:
        """Add to the counters by reason. In memory until `flush` or `close`: a kill loses some."""
        ...

    def rejections(self, collection: str) -> dict[str, int]:
        """Counters by reason, those not yet written included."""
        ...

    def flush(self) -> None:
        """Write what `count_rejections` still keeps in memory."""
        ...

    def add_manifest(self, row: ManifestRow) -> None:
        """Append it and its log entry ("manifest"). StoreError if that version is there."""
        ...

    def manifests(self) -> list[ManifestRow]:
        """Every registered version, oldest first."""
        ...

    def add_key_list(self, row: KeyListRow, *, log_size: int) -> bool:
        """Append it and its log entry ("keys"), or False if the log has not `log_size` entries."""
        ...

    def latest_key_list(self) -> KeyListRow | None: ...

    def key_list(self, version: int) -> KeyListRow | None:
        """One of the lists ever signed; their versions have no gap."""
        ...

    def append_log(self, entry_type: str, body_hash: bytes) -> None: ...

    def log(self, first: int = 0) -> list[LogEntry]:
        """Entries from index `first` on, at most LOG_PAGE."""
        ...

    def log_head(self) -> tuple[int, str]:
        """Number of entries and the head in hex."""
        ...

    def log_head_at(self, size: int) -> str | None:
        """The head, in hex, after so many entries; None where there are fewer."""
        ...

    def charge(self, row: ChargeRow, decide: Decide) -> ChargeRow:
        """Append the charge, or return the one that is there for the same collection and request.

        `decide` is given the collection's charges inside the writing transaction, one at a time
        over all threads and processes; what it raises is raised, and nothing is charged.
        """
        ...

    def charge_for(self, collection: str, request: bytes) -> ChargeRow | None: ...

    def charges(self, collection: str) -> list[ChargeRow]:
        """Oldest first; no charge is ever changed or taken back."""
        ...

    def ledger(self, first: int = 0) -> list[ChargeRow]:
        """The charges of all collections from index `first` on, oldest first."""
        ...

    def store_result(self, row: ResultRow, record: bytes | None = None) -> ResultRow:
        """Keep a charged release's result and its log entry ("release") in one transaction.

        With them record 0 of the session that it opens. The first one stays: it is returned, and
        nothing is kept of any other.
        """
        ...

    def result(self, release: str) -> ResultRow | None: ...

    def results(self, collection: str) -> list[ResultRow]:
        """In the order of the log."""
        ...

    def add_record(self, release: str, number: int, record: bytes) -> bool:
        """Append a session's record; False, and nothing kept, unless it is the next number."""
        ...

    def records(self, release: str, first: int = 0) -> list[bytes]:
        """A session's records from that number on, in order."""
        ...

    def session_sizes(self) -> dict[str, int]:
        """Release → how many records its session has, of every session."""
        ...

    def close(self) -> None: ...
