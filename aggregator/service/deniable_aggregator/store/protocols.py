"""What a store promises, as six small protocols; SQLite and PostgreSQL pass one test-suite.

A store is one object that offers all six. A caller names the smallest that it needs; one that needs
two joins them. Every method is thread-safe. What writes is durable when it returns, or raises
having changed nothing.

A method that does a privileged act takes its entry as `audit`. It appends the entry in the same
transaction if it changed anything. What the service does by itself is no act of a person: None.

An operation that loses its connection while the database commits raises too, and may have been
done: repeating it counts nothing twice and charges nothing twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.access.sessions import SessionStore
from deniable_aggregator.access.tokens import TokenStore
from deniable_aggregator.access.users import UserStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.access.rows import AuditRow
    from deniable_aggregator.store.rows import (
        AcceptedReport,
        BlockId,
        ChargeCheck,
        ChargeRow,
        CollectionRow,
        CollectionView,
        CommitStatus,
        DeletedManifest,
        DeletionCheck,
        EpochRow,
        EpochView,
        KeyedTally,
        KeyListRow,
        ManifestRow,
        PartialTally,
        ResultRow,
        RollupBacklog,
        TallyKernel,
    )
    from deniable_shared.wire.transparency_log import LogEntry


class Reports(Protocol):
    """Counts and never a report. Ids and counts change in one transaction or not at all."""

    def commit(self, reports: Sequence[AcceptedReport], tally: TallyKernel) -> list[CommitStatus]:
        """Count the ids that are new, in one transaction that re-reads which epochs are closed.

        Serials are redeemed in the same transaction. Returns the status of each report, in order.
        """

    def commit_blocks(
        self, blocks: Sequence[tuple[BlockId, Sequence[PartialTally]]], tally: TallyKernel
    ) -> Sequence[Mapping[tuple[str, CommitStatus], int] | None]:
        """The same for blocks that were tallied elsewhere, all in one transaction, in their order.

        Reports that were counted before are subtracted from the tallies. Returns for each block
        the number of reports by (collection, status); None if the block was counted before.
        """

    def blocks(self, job: str) -> frozenset[str]:
        """Names of the blocks that a job has counted."""

    def tallies(self, collection: str, first_epoch: int, last_epoch: int) -> list[KeyedTally]:
        """Cells of the epochs first..last (inclusive), one snapshot, ordered by cell."""

    def epochs(self, collection: str) -> list[EpochRow]:
        """Epochs that have reports or are closed, in order."""

    def is_closed(self, collection: str, epoch: int) -> bool:
        """Whether the epoch takes no more reports."""

    def close_epoch(
        self, collection: str, epoch: int, now: float, *, audit: AuditEntry | None
    ) -> bool:
        """For good: refuse reports, delete ids and serials, freeze counts. False if it was."""

    def expire_epoch(self, collection: str, epoch: int, now: float) -> bool:
        """Delete the counts of a closed epoch, for good. False if they were deleted before.

        StoreError for an epoch that is open.
        """

    def count_rejections(self, collection: str, counts: Mapping[str, int]) -> None:
        """Add to the counters by reason. In memory until `flush` or `close`: a kill loses some."""

    def rejections(self, collection: str) -> dict[str, int]:
        """Counters by reason, those not yet written included."""

    def set_spool_progress(self, place: str, until: float) -> None:
        """Note that reports which the spool took before `until` are counted. Never moves back."""

    def spool_progress(self) -> dict[str, int]:
        """Place → time until which it is counted; an epoch closes once all are past its end."""

    def remove_spool(self, place: str) -> bool:
        """No epoch waits for it any more. False if the place is unknown."""

    def collection_view(self, collection: str) -> CollectionView | None:
        """What the SQL views have of the collection."""

    def set_collection_view(self, collection: str, view: CollectionView) -> None:
        """Replace what the SQL views have of the collection."""

    def epoch_view_makers(self, collection: str) -> dict[int, str]:
        """Epoch → maker of what the SQL views have of it."""

    def set_epoch_view(self, collection: str, view: EpochView) -> bool:
        """Replace what the SQL views have of the epoch.

        False, and they have nothing, if it is open or expired.
        """


class Collections(Protocol):
    """Collections, key lists, and the one append-only log that has an entry of each."""

    def collections(self) -> dict[str, CollectionRow]:
        """By id."""

    def add_manifest(self, row: ManifestRow, *, audit: AuditEntry | None) -> None:
        """Append it and its log entry ("manifest"). StoreError if that version is there."""

    def manifests(self) -> list[ManifestRow]:
        """Every registered version, oldest first."""

    def set_collection_closed(self, collection: str, *, audit: AuditEntry | None) -> None:
        """Refuse this collection's reports permanently."""

    def set_collection_archived(
        self, collection: str, *, archived: bool, audit: AuditEntry | None
    ) -> None:
        """Whether lists leave it out."""

    def delete_collection(
        self, collection: str, may: DeletionCheck, *, audit: AuditEntry | None
    ) -> None:
        """Remove it and its manifests; their log entries stay.

        `may` is called inside the writing transaction; what it raises is raised, and nothing is
        deleted. Nor is it where a report is counted meanwhile: StoreError.
        """

    def deleted_manifests(self) -> list[DeletedManifest]:
        """Every one, in the order of deleting."""

    def add_key_list(self, row: KeyListRow, *, log_size: int, audit: AuditEntry | None) -> bool:
        """Append it and its log entry ("keys"), or False if the log has not `log_size` entries."""

    def latest_key_list(self) -> KeyListRow | None:
        """The one of the highest version."""

    def key_list(self, version: int) -> KeyListRow | None:
        """One of the lists ever signed; their versions have no gap."""

    def log(self, first: int = 0) -> list[LogEntry]:
        """Entries from index `first` on, at most LOG_PAGE."""

    def log_head(self) -> tuple[int, str]:
        """Number of entries and the head in hex."""

    def log_head_at(self, size: int) -> str | None:
        """The head, in hex, after so many entries; None where there are fewer."""


class Ledger(Protocol):
    """What central releases were charged, and what they showed; nothing is ever taken back."""

    def charge(self, row: ChargeRow, decide: ChargeCheck, *, audit: AuditEntry | None) -> ChargeRow:
        """Append the charge, or return the one that is there for the same collection and request.

        `decide` is given the collection's charges inside the writing transaction, one at a time
        over all threads and processes; what it raises is raised, and nothing is charged.
        """

    def charge_for(self, collection: str, request: bytes) -> ChargeRow | None:
        """The charge for this request."""

    def charges(self, collection: str) -> list[ChargeRow]:
        """Oldest first; no charge is ever changed or taken back."""

    def ledger(self, first: int = 0) -> list[ChargeRow]:
        """The charges of all collections from index `first` on, oldest first."""

    def store_result(self, row: ResultRow, record: bytes | None = None) -> ResultRow:
        """Keep a charged release's result and its log entry ("release") in one transaction.

        With them record 0 of the session that it opens. The first one stays: it is returned, and
        nothing is kept of any other.
        """

    def result(self, release: str) -> ResultRow | None:
        """What is shown of it, once it is kept."""

    def results(self, collection: str) -> list[ResultRow]:
        """In the order of the log."""

    def add_record(
        self, release: str, number: int, record: bytes, *, audit: AuditEntry | None
    ) -> bool:
        """Append a session's record; False, and nothing kept, unless it is the next number."""

    def records(self, release: str, first: int = 0) -> list[bytes]:
        """A session's records from that number on, in order."""

    def session_sizes(self) -> dict[str, int]:
        """Release → how many records its session has, of every session."""


class Access(TokenStore, UserStore, SessionStore, Protocol):
    """Tokens, users, sessions of pages and one-time links; secrets come as hashes only."""

    def delete_expired_access(self, now: float) -> None:
        """Delete sessions and links that have expired."""


class Audit(Protocol):
    """The chain of privileged acts."""

    def record_act(self, entry: AuditEntry) -> None:
        """Append the entry of an act that changes nothing else here."""

    def audit(self, first: int = 0) -> Sequence[AuditRow]:
        """Entries from index `first` on, at most AUDIT_PAGE."""

    def audit_head(self) -> tuple[int, str]:
        """Number of entries and the head in hex."""


class Maintenance(Protocol):
    """What opening a service and its housekeeping use."""

    @property
    def migrated_from(self) -> str | None:
        """The older schema that opening this store has replaced; None where it replaced none."""

    def ping(self) -> None:
        """StoreError where the database does not answer, within a few seconds."""

    def try_lead(self, *, willing: bool = True) -> bool:
        """Whether this process leads those that share the database. Never if not `willing`.

        What the leader does is safe when two do it: a connection can be lost unnoticed.
        """

    def rollup_backlog(self) -> RollupBacklog:
        """Batches that `roll_up` has not added yet, numbered in about the order they came."""

    def roll_up(self) -> int:
        """Fold what `commit` appended into the counts; how many batches still wait (the lag)."""

    def flush(self) -> None:
        """Write what `count_rejections` still keeps in memory."""

    def checkpoint(self, *, at_once: bool = False) -> None:
        """Called by each maintenance tick: copies the log into the file once nothing is written.

        `at_once` does it now, and raises nothing if that fails.
        """

    def close(self) -> None:
        """Write what is in memory and close every connection."""


class Store(Reports, Collections, Ledger, Access, Audit, Maintenance, Protocol):
    """All six: what opening a database gives. Only who passes it on asks for the whole."""
