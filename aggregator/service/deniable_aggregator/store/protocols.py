"""The interface of a store, as seven small protocols; SQLite and PostgreSQL pass the same tests.

A store is one object with all seven. A caller names the smallest protocol that it needs, or joins
two. Every method is thread-safe. A write is durable when the method returns; if it raises, nothing
has changed.

A method that does a privileged act takes its audit entry as `audit`, and appends it in the same
transaction if anything changed. Acts of the service itself have None.

If the connection is lost during a commit, the method also raises, but the commit may have happened.
Repeating it never counts or charges anything twice.
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
        AlertRow,
        BlockId,
        ChargeCheck,
        ChargeRow,
        CollectionRow,
        CollectionView,
        CommitStatus,
        DeletedManifest,
        DeletionCheck,
        DeliveryRow,
        EpochRow,
        EpochView,
        KeyedTally,
        KeyListRow,
        ManifestRow,
        NoteRow,
        PartialTally,
        ResultRow,
        RollupBacklog,
        TallyKernel,
    )
    from deniable_shared.wire.transparency_log import LogEntry


class Reports(Protocol):
    """Stores counts, never a report. Ids and counts change in one transaction or not at all."""

    def commit(self, reports: Sequence[AcceptedReport], tally: TallyKernel) -> list[CommitStatus]:
        """Count the reports with new ids, in one transaction that re-reads closed epochs.

        Serials are redeemed in the same transaction. Returns the status of each report, in order.
        """

    def commit_blocks(
        self, blocks: Sequence[tuple[BlockId, Sequence[PartialTally]]], tally: TallyKernel
    ) -> Sequence[Mapping[tuple[str, CommitStatus], int] | None]:
        """Count blocks that were tallied elsewhere, in order, in one transaction.

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
        """Whether the epoch accepts no more reports."""

    def close_epoch(
        self, collection: str, epoch: int, now: float, *, audit: AuditEntry | None
    ) -> bool:
        """Close permanently: refuse reports, delete ids and serials, freeze counts.

        Returns False if it was closed before.
        """

    def expire_epoch(self, collection: str, epoch: int, now: float) -> bool:
        """Delete the counts of a closed epoch permanently. False if they were deleted before.

        Raises StoreError for an open epoch.
        """

    def count_rejections(self, collection: str, counts: Mapping[str, int]) -> None:
        """Add to the counters by reason. In memory until `flush` or `close`: a kill loses some."""

    def rejections(self, collection: str) -> dict[str, int]:
        """Counters by reason, including those not yet written."""

    def set_spool_progress(self, place: str, until: float) -> None:
        """Note that reports accepted by the spool before `until` are counted. Never moves back."""

    def spool_progress(self) -> dict[str, int]:
        """Place → Unix seconds until which it is counted; an epoch closes after all are past it."""

    def remove_spool(self, place: str) -> bool:
        """Forget a spool: no epoch waits for it. Returns False if the place is unknown."""

    def collection_view(self, collection: str) -> CollectionView | None:
        """The collection's row in the SQL views, or None."""

    def set_collection_view(self, collection: str, view: CollectionView) -> None:
        """Replace the collection's row in the SQL views."""

    def epoch_view_makers(self, collection: str) -> dict[int, str]:
        """Epoch → maker of its rows in the SQL views."""

    def set_epoch_view(self, collection: str, view: EpochView) -> bool:
        """Replace the epoch's rows in the SQL views.

        Returns False and removes the rows if it is open or expired.
        """


class Sharing(Protocol):
    """Notes on the time axis, alerts, and their webhook calls."""

    def add_note(self, collection: str, row: NoteRow, *, audit: AuditEntry | None) -> None:
        """Keep one more."""

    def notes(self, collection: str) -> list[NoteRow]:
        """The notes in order of time."""

    def remove_note(self, collection: str, note_id: str, *, audit: AuditEntry | None) -> bool:
        """Remove a note; returns False if the collection has no such note."""

    def add_alert(self, collection: str, row: AlertRow, *, audit: AuditEntry | None) -> None:
        """Keep one more."""

    def alerts(self, collection: str) -> list[AlertRow]:
        """All alerts, oldest first, including ended ones."""

    def end_alert(
        self, collection: str, alert_id: str, now: float, *, audit: AuditEntry | None
    ) -> bool:
        """End an alert; returns False if there is none of that id, or it has ended before."""

    def record_look(self, alert_id: str, epoch: int, call: DeliveryRow | None) -> bool:
        """Note a check of the epoch, and store the call that follows, in one transaction.

        Returns False and stores nothing if the epoch was checked before or the alert has ended.
        """

    def due_deliveries(self, now: float, most: int) -> list[DeliveryRow]:
        """Calls whose next attempt is due, the most overdue first."""

    def record_attempt(
        self,
        call: DeliveryRow,
        *,
        following: int | None,
        sent: int | None,
        audit: AuditEntry | None,
    ) -> None:
        """Note one more attempt; `following`: Unix seconds of the next one, or None."""


class Collections(Protocol):
    """Collections, key lists, and the one append-only log that has an entry of each."""

    def collections(self) -> dict[str, CollectionRow]:
        """By id."""

    def add_manifest(self, row: ManifestRow, *, audit: AuditEntry | None) -> None:
        """Append it and its log entry ("manifest"). Raises StoreError if that version exists."""

    def manifests(self) -> list[ManifestRow]:
        """Every registered version, oldest first."""

    def set_collection_closed(self, collection: str, *, audit: AuditEntry | None) -> None:
        """Refuse this collection's reports permanently."""

    def set_collection_archived(
        self, collection: str, *, archived: bool, audit: AuditEntry | None
    ) -> None:
        """Set whether lists leave out the collection."""

    def delete_collection(
        self, collection: str, may: DeletionCheck, *, audit: AuditEntry | None
    ) -> None:
        """Remove it and its manifests; their log entries stay.

        `may` is called inside the writing transaction. Its exceptions propagate; nothing is deleted
        then. Raises StoreError if a report is counted at the same time.
        """

    def deleted_manifests(self) -> list[DeletedManifest]:
        """Every deleted manifest, in the order of deletion."""

    def add_key_list(self, row: KeyListRow, *, log_size: int, audit: AuditEntry | None) -> bool:
        """Append it and its log entry ("keys"). False unless the log has `log_size` entries."""

    def latest_key_list(self) -> KeyListRow | None:
        """The key list with the highest version."""

    def key_list(self, version: int) -> KeyListRow | None:
        """The key list of that version; versions have no gap."""

    def log(self, first: int = 0) -> list[LogEntry]:
        """Entries from index `first` on, at most LOG_PAGE."""

    def log_head(self) -> tuple[int, str]:
        """Number of entries and the head in hex."""

    def log_head_at(self, size: int) -> str | None:
        """The head in hex after `size` entries; None if there are fewer."""


class Ledger(Protocol):
    """Charges and results of central releases; none is ever removed."""

    def charge(self, row: ChargeRow, decide: ChargeCheck, *, audit: AuditEntry | None) -> ChargeRow:
        """Append the charge, or return the stored one of the same collection and request.

        `decide` gets the collection's charges inside the writing transaction, one at a time over
        all threads and processes. Its exceptions propagate; nothing is charged then.
        """

    def charge_for(self, collection: str, request: bytes) -> ChargeRow | None:
        """The charge for this request."""

    def charges(self, collection: str) -> list[ChargeRow]:
        """The charges, oldest first; none is ever changed or removed."""

    def ledger(self, first: int = 0) -> list[ChargeRow]:
        """The charges of all collections from index `first` on, oldest first."""

    def store_result(self, row: ResultRow, record: bytes | None = None) -> ResultRow:
        """Store a charged release's result and its log entry ("release") in one transaction.

        Also stores record 0 of the session that it opens. The first result stays: later calls
        return it and store nothing.
        """

    def result(self, release: str) -> ResultRow | None:
        """The stored result of a release, or None."""

    def results(self, collection: str) -> list[ResultRow]:
        """The results of a collection, in the order of the log."""

    def add_record(
        self, release: str, number: int, record: bytes, *, audit: AuditEntry | None
    ) -> bool:
        """Append a session's record; returns False and stores nothing unless it is the next one."""

    def records(self, release: str, first: int = 0) -> list[bytes]:
        """A session's records from number `first` on, in order."""

    def session_sizes(self) -> dict[str, int]:
        """Release → number of records, for every session."""


class Access(TokenStore, UserStore, SessionStore, Protocol):
    """Tokens, users, page sessions and one-time links; it gets only hashes of secrets."""

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
    """Methods for the start of a service and its maintenance."""

    @property
    def migrated_from(self) -> str | None:
        """The older schema that opening this store has replaced, or None."""

    def ping(self) -> None:
        """Raises StoreError if the database does not answer, within a few seconds."""

    def try_lead(self, *, willing: bool = True) -> bool:
        """Whether this process leads those that share the database. Never if not `willing`.

        The leader's work is safe if two processes do it: a connection can be lost unnoticed.
        """

    def rollup_backlog(self) -> RollupBacklog:
        """Batches that `roll_up` has not added yet, numbered roughly in order of arrival."""

    def roll_up(self) -> int:
        """Fold appended batches into the counts; returns how many still wait (the lag)."""

    def flush(self) -> None:
        """Write the counters that `count_rejections` keeps in memory."""

    def checkpoint(self, *, at_once: bool = False) -> None:
        """Each maintenance tick calls it: copies the log into the file when writes have paused.

        `at_once` copies it now, and ignores errors.
        """

    def close(self) -> None:
        """Write counters in memory and close every connection."""


class Store(Reports, Collections, Ledger, Sharing, Access, Audit, Maintenance, Protocol):
    """All seven protocols, as opening a database returns. Only code that passes it on needs it."""
