"""What goes into a store and comes out of it: reports and counts, collections, the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from deniable_aggregator.base.errors import DamagedError

PAGE_SIZE = 4096
"""Integers in one page of a tally: one report in a long vector rewrites 32 KiB, not all of it."""

Payloads = npt.NDArray[np.uint8]
Counts = npt.NDArray[np.int64]


class TallyKey(NamedTuple):
    """The finest thing that is counted: reports of one epoch under one manifest, in one cohort."""

    collection: str
    epoch: int
    manifest_version: int
    cohort: int = 0


TallyKernel = Callable[[TallyKey, Payloads], Counts]
"""The estimator's kernel: (n, payload_size) uint8 of one cell -> int64[tally_size]."""


class AcceptedReport(NamedTuple):
    """An opened, valid report that is about to be counted. It is never stored."""

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
    """What a commit did with a report. Only COUNTED changed a number."""

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


DeletionCheck = Callable[[bool], None]
"""Given whether the collection has reports, closed epochs or charges; returns or raises."""


@dataclass(frozen=True, slots=True)
class CollectionRow:
    """A registered collection; registered again after it was deleted it has another `number`."""

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
class RollupBacklog:
    """Batches that the roll-up has not added yet; numbers of the first and the last."""

    batches: int = 0
    oldest: int = 0
    newest: int = 0


ChargeCheck = Callable[[Sequence[ChargeRow]], None]
"""Given the earlier charges, oldest first. Returns if one more is allowed, or raises."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """What is shown of a release; `position` is that of its log entry, from 1, once it is kept."""

    release: str
    salt: bytes
    document: bytes
    position: int | None = None


@dataclass(frozen=True, slots=True)
class CollectionView:
    """What the SQL views have of a collection's newest manifest."""

    name: str
    read: str
    epoch_seconds: int


class EstimateView(NamedTuple):
    """One label of one epoch, as the API answers; None where that says null."""

    label: str
    frequency: float | None
    std_error: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True)
class EpochView:
    """What the SQL views have of a closed epoch; `maker` is program and manifest version."""

    epoch: int
    maker: str
    n: int = 0
    confidence: float = 0.95
    rows: tuple[EstimateView, ...] = ()
