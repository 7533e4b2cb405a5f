"""The embedded store: one SQLite file, WAL, synchronous=FULL, one writer."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import audit_log, epoch_closing, stored_tallies
from deniable_aggregator.store.access import AccessTables
from deniable_aggregator.store.audit_log import AuditTables
from deniable_aggregator.store.collections import CollectionTables
from deniable_aggregator.store.ledger import LedgerTables
from deniable_aggregator.store.reports import ReportTables
from deniable_aggregator.store.rows import (
    AcceptedReport,
    BlockId,
    CommitStatus,
    EpochRow,
    KeyedTally,
    PartialTally,
    RollupBacklog,
    TallyKernel,
)
from deniable_aggregator.store.schema import READ_VERSION
from deniable_aggregator.store.sharing import SharingTables
from deniable_aggregator.store.sqlite import commit, schema
from deniable_aggregator.store.sqlite.connections import Factory, SqliteConnections, require_intact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from deniable_aggregator.access.audit import AuditEntry


class SqliteReports(ReportTables):
    """Counts are added in place, by one writer."""

    def commit(self, reports: Sequence[AcceptedReport], tally: TallyKernel) -> list[CommitStatus]:
        collections = {report.key.collection for report in reports}
        numbers = {collection: self._number(collection) for collection in collections}
        with self._connections.write() as db:
            return commit.commit_reports(db, numbers, reports, tally)

    def commit_blocks(
        self, blocks: Sequence[tuple[BlockId, Sequence[PartialTally]]], tally: TallyKernel
    ) -> Sequence[Mapping[tuple[str, CommitStatus], int] | None]:
        names = {part.key.collection for _, parts in blocks for part in parts}
        numbers = {name: self._number(name) for name in names}
        with self._connections.write() as db:
            return commit.commit_blocks(db, numbers, blocks, tally)

    def tallies(self, collection: str, first_epoch: int, last_epoch: int) -> list[KeyedTally]:
        with self._connections.read() as db:
            return stored_tallies.tallies(db, collection, first_epoch, last_epoch)

    def epochs(self, collection: str) -> list[EpochRow]:
        with self._connections.read() as db:
            return stored_tallies.epochs(db, collection, self._number(collection))

    def close_epoch(
        self, collection: str, epoch: int, now: float, *, audit: AuditEntry | None
    ) -> bool:
        """Mark the epoch closed and delete SWEEP_IDS ids; more in slices between uploads."""
        number = self._number(collection)
        with self._connections.write() as db:
            new = epoch_closing.close(db, number, epoch, now)
            if new:
                audit_log.append(db, audit)
            swept = commit.sweep(db, number, epoch)
        if not swept:
            self._sweep(number, epoch)
        return new

    def _sweep_slice(self, number: int, epoch: int) -> bool:
        with self._connections.write() as db:
            return commit.sweep(db, number, epoch)


class SqliteStore(
    SqliteReports, CollectionTables, LedgerTables, SharingTables, AccessTables, AuditTables
):
    """See `protocols.Store`. Opening migrates the file and finishes an interrupted closing."""

    _connections: SqliteConnections

    def __init__(self, path: Path, *, factory: Factory = sqlite3.Connection) -> None:
        self.migrated_from = schema.migrate(path)
        self._connections = SqliteConnections(path, factory=factory)
        try:
            with self._connections.read() as db:
                require_intact(db, str(path))
            super().__init__(self._connections)
            self._require_sealed_facts()
            self._finish_sweeps()
        except BaseException:
            self._connections.close()
            raise

    def try_lead(self, *, willing: bool = True) -> bool:
        """True if `willing`: the directory's lock keeps other processes out."""
        return willing

    def checkpoint(self, *, at_once: bool = False) -> None:
        """Checkpoint: afterwards the file has everything without its log."""
        if not at_once:
            self._connections.checkpoint_if_idle()
            return
        with suppress(StoreError):  # an idle tick tries again
            self._connections.checkpoint()

    def ping(self) -> None:
        self._connections.require_same_file()
        with self._connections.read() as db:
            db.execute(READ_VERSION).fetchall()

    def rollup_backlog(self) -> RollupBacklog:
        """Always empty: counts are added in place."""
        return RollupBacklog()

    def roll_up(self) -> int:
        """Does nothing and returns 0: counts are added in place."""
        return 0

    def flush(self) -> None:
        self._rejections.flush()

    def close(self) -> None:
        """Write the rejections, checkpoint, close every connection."""
        try:
            self.flush()
        finally:
            self._connections.close()
