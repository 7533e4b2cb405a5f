"""The values that a store takes and returns: reports and counts, collections, the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable_aggregator.base.errors import DamagedError

PAGE_SIZE = 4096
"""Integers in one page of a tally: a report in a long vector rewrites only 32 KiB."""

Payloads = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]


class TallyKey(NamedTuple):
    """The key of a cell: reports of one epoch, manifest version and cohort are counted together."""

    collection: str
    epoch: int
    manifest_version: int
    cohort: int = 0


TallyKernel = Callable[[TallyKey, Payloads], Counts]
"""The estimator's kernel: (n, payload_size) uint8 of one cell -> int64[tally_size]."""


class AcceptedReport(NamedTuple):
    """An opened, valid report to count. It is never stored."""

    key: TallyKey
    report_id: bytes
    payload: bytes
    serial: bytes | None = None


@dataclass(frozen=True, slots=True)
class BlockId:
    """Names a block of a spool. A job counts it once."""

    job: str
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class PartialTally:
    """Opened, valid reports of one cell from one block, and their tally.

    No (collection, epoch, id) is in two parts of a block, or twice in one.
    """

    key: TallyKey
    ids: Sequence[bytes]
    payloads: Payloads
    tally: Counts


class CommitStatus(StrEnum):
    """The outcome of a report in a commit. Only COUNTED changes a count."""

    __hash__ = str.__hash__  # an Enum's own is a call of Python for each report

    COUNTED = "counted"
    DUPLICATE = "duplicate"
    SPENT = "spent"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, eq=False)
class KeyedTally:
    """A cell's reports and their tally, int64[tally_size]."""

    key: TallyKey
    n: int
    tally: Counts


@dataclass(frozen=True, slots=True)
class EpochRow:
    """Reports of one epoch over all its cells; times are Unix seconds.

    After `expired_at` its tallies are deleted and n is 0. `damage` is the collection and
    epoch of a damaged row. Every row of the collection has it, as its epoch number may be wrong.
    """

    epoch: int
    stored: int
    closed_at: int | None
    expired_at: int | None = None
    damage: tuple[str, int] | None = None

    @property
    def n(self) -> int:
        """The number of reports. Raises DamagedError if the stored number is damaged."""
        if self.damage is not None:
            raise DamagedError(*self.damage)
        return self.stored


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """One registered version; `envelope` has the DSSE bytes unchanged."""

    collection: str
    version: int
    name: str
    digest: bytes
    envelope: bytes


DeletionCheck = Callable[[bool], None]
"""Gets whether the collection has reports, closed epochs or charges; raises to refuse deletion."""


@dataclass(frozen=True, slots=True)
class CollectionRow:
    """A registered collection. After deletion and new registration it has another `number`."""

    number: int
    closed: bool
    archived: bool


@dataclass(frozen=True, slots=True)
class DeletedManifest:
    """One version of a collection that was deleted; the log still has its digest."""

    collection: str
    version: int
    digest: bytes


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
    """The charge of a release: exact rationals as texts, "1/2", None for a cost not claimed.

    `request` is the digest of the request, as secret as the tallies; `terms` is its public part.
    `epochs` ascend; `created` in Unix seconds.
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
class RollupBacklog:
    """Batches that the roll-up has not added yet, and the numbers of the first and the last."""

    batches: int = 0
    oldest: int = 0
    newest: int = 0


ChargeCheck = Callable[[Sequence[ChargeRow]], None]
"""Gets the earlier charges, oldest first; raises to refuse one more."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """The stored result of a release; `position` is that of its log entry, from 1."""

    release: str
    salt: bytes
    document: bytes
    position: int | None = None


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note on the time axis, with its time in Unix seconds, its text and its author."""

    id: str
    at: int
    body: str
    author: str
    created: int


@dataclass(frozen=True, slots=True)
class AlertRow:
    """A webhook that is called when a comparison shows a change. Times are Unix seconds.

    It compares the newest `periods` epochs with as many before them, at most `looks` times. `risk`
    (a decimal text) bounds the probability of any false alert. `compared` is the last epoch that
    it checked; `secret` signs its calls.
    """

    id: str
    url: str
    secret: bytes
    author: str
    created: int
    periods: int
    risk: str
    looks: int
    compared: int
    ended: int | None = None


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """A waiting call of a webhook."""

    id: str
    alert: str
    url: str
    secret: bytes
    body: bytes
    created: int
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class CollectionView:
    """The fields of a collection's newest manifest in the SQL views."""

    name: str
    read: str
    epoch_seconds: int


class EstimateView(NamedTuple):
    """One label of one epoch, as in the API; None for null."""

    label: str
    frequency: float | None
    std_error: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class EpochView:
    """A closed epoch in the SQL views; `maker` is program and manifest version."""

    epoch: int
    maker: str
    n: int = 0
    confidence: float = 0.95
    rows: tuple[EstimateView, ...] = ()
