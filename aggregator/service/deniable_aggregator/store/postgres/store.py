"""The store that many processes share: PostgreSQL, append-only counting, one roll-up.

One process runs the maintenance: the one that holds a lock, which lasts as long as its connection.
A leader that ends in any way loses the connection and the lock, and the next process that tries
gets it. A leader that was cut off may believe for a moment that it still leads, so all its work is
safe if two processes do it.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg

from deniable_aggregator.store import audit_log
from deniable_aggregator.store.access import AccessTables
from deniable_aggregator.store.audit_log import AuditTables
from deniable_aggregator.store.collections import CollectionTables
from deniable_aggregator.store.ledger import LedgerTables
from deniable_aggregator.store.postgres import commit, rollup, schema, tallies
from deniable_aggregator.store.postgres.pool import (
    Connection,
    Factory,
    Lock,
    PostgresPool,
    connect,
    translate_errors,
)
from deniable_aggregator.store.reports import ReportTables
from deniable_aggregator.store.schema import READ_VERSION
from deniable_aggregator.store.sharing import SharingTables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.store.postgres.commit import CellRow
    from deniable_aggregator.store.rows import (
        AcceptedReport,
        BlockId,
        CommitStatus,
        EpochRow,
        KeyedTally,
        PartialTally,
        RollupBacklog,
        TallyKernel,
        TallyKey,
    )

_ASK = b"select pg_try_advisory_lock(%s)"


@dataclass(slots=True)
class Leadership:
    """The lock of the leading process: `take` tries to get it, `close` gives it back."""

    url: str
    _connection: Connection | None = None
    _leads: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> bool:
        """Whether this process leads. Raises StoreError if the database cannot be reached."""
        with self._lock, translate_errors():
            try:
                return self._take()
            except psycopg.Error:
                self._drop()
                raise

    def close(self) -> None:
        """Let another process lead."""
        with self._lock:
            self._drop()

    def _take(self) -> bool:
        if self._connection is None:
            self._connection = connect(self.url)
        if self._leads:
            self._connection.execute(b"select 1")  # raises if the connection is lost
        else:
            [[acquired]] = self._connection.execute(_ASK, (int(Lock.LEADER),)).fetchall()
            self._leads = bool(acquired)
        return self._leads

    def _drop(self) -> None:
        self._leads = False
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None


MOST_KNOWN_CELLS = 100_000
PING_SECONDS = 3.0


class PostgresReports(ReportTables):
    """Counts are appended, by many writers."""

    _connections: PostgresPool

    def __init__(self, connections: PostgresPool) -> None:
        super().__init__(connections)
        self._cells: dict[TallyKey, CellRow] = {}

    def commit(self, reports: Sequence[AcceptedReport], tally: TallyKernel) -> list[CommitStatus]:
        if not reports:
            return []
        collections = {report.key.collection for report in reports}
        numbers = {collection: self._number(collection) for collection in collections}
        with self._connections.begin() as db:
            result = commit.commit_reports(db, numbers, self._cells, reports, tally)
        if result.cells:
            self._remember(result.cells)
        return result.statuses

    def commit_blocks(
        self, blocks: Sequence[tuple[BlockId, Sequence[PartialTally]]], tally: TallyKernel
    ) -> Sequence[Mapping[tuple[str, CommitStatus], int] | None]:
        names = {part.key.collection for _, parts in blocks for part in parts}
        numbers = {name: self._number(name) for name in names}
        with self._connections.begin() as db:
            statuses, cells = commit.commit_blocks(db, numbers, self._cells, blocks, tally)
        if cells:
            self._remember(cells)
        return statuses

    def tallies(self, collection: str, first_epoch: int, last_epoch: int) -> list[KeyedTally]:
        with self._connections.read() as db:
            return tallies.tallies(db, collection, first_epoch, last_epoch)

    def epochs(self, collection: str) -> list[EpochRow]:
        number = self._number(collection)
        with self._connections.read() as db:
            return tallies.epochs(db, collection, number)

    def close_epoch(
        self, collection: str, epoch: int, now: float, *, audit: AuditEntry | None
    ) -> bool:
        """Mark the epoch closed and delete SWEEP_IDS ids; more ids in further transactions.

        Without an audit entry it waits only for writers of this epoch.
        """
        number = self._number(collection)
        transaction = self._connections.begin if audit is None else self._connections.write
        with transaction() as db:
            new = commit.close(db, number, epoch, now)
            if new:
                audit_log.append(db, audit)
            swept = commit.sweep(db, number, epoch)
        if not swept:
            self._sweep(number, epoch)
        return new

    def _remember(self, cells: Mapping[TallyKey, CellRow]) -> None:
        if len(self._cells) > MOST_KNOWN_CELLS:
            self._cells = {}
        self._cells = {**self._cells, **cells}

    def _sweep_slice(self, number: int, epoch: int) -> bool:
        with self._connections.begin() as db:
            return commit.sweep(db, number, epoch)


class PostgresStore(
    PostgresReports, CollectionTables, LedgerTables, SharingTables, AccessTables, AuditTables
):
    """See `protocols.Store`. Opening migrates the database and finishes an interrupted closing."""

    def __init__(self, url: str, *, factory: Factory = psycopg.Connection) -> None:
        self.migrated_from = schema.migrate(url)
        self._connections = PostgresPool(url, factory=factory)
        self._leadership = Leadership(url)
        try:
            super().__init__(self._connections)
            self._require_sealed_facts()
            self._finish_sweeps()
        except BaseException:
            self._connections.close()
            raise

    def checkpoint(self, *, at_once: bool = False) -> None:
        """Does nothing: PostgreSQL checkpoints automatically."""

    def try_lead(self, *, willing: bool = True) -> bool:
        if willing:
            return self._leadership.take()
        self._leadership.close()
        return False

    def ping(self) -> None:
        with self._connections.read_within(PING_SECONDS) as db:
            db.execute(READ_VERSION).fetchall()

    def rollup_backlog(self) -> RollupBacklog:
        with self._connections.read_within(PING_SECONDS) as db:
            return rollup.backlog(db)

    def roll_up(self) -> int:
        """Fold in slices; if another process already folds, only count the waiting batches."""
        while self._fold():
            pass
        with self._connections.read() as db:
            return rollup.backlog(db).batches

    def flush(self) -> None:
        self._rejections.flush()

    def close(self) -> None:
        """Write the rejections, give up the lead, close every connection."""
        try:
            self.flush()
        finally:
            self._leadership.close()
            self._connections.close()

    def _fold(self) -> bool:
        """Fold one slice; returns whether more may be waiting."""
        with self._connections.begin() as db:
            return db.try_lock(Lock.FOLD) and rollup.fold(db) > 0
