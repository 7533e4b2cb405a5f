"""What releases were charged, what they showed, and the answers of sessions."""

from __future__ import annotations

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.store import auditing, releases
from deniable_aggregator.store.rows import ChargeRow, Decide, ResultRow
from deniable_aggregator.store.tables import Tables


class LedgerTables(Tables):
    """See `protocols.Ledger`."""

    def charge(self, row: ChargeRow, decide: Decide, *, audit: AuditEntry | None) -> ChargeRow:
        number = self._number(row.collection)
        with self._connections.write() as db:
            charged = releases.charge(db, number, row, decide)
            if charged is row:
                auditing.append(db, audit)
            return charged

    def charge_for(self, collection: str, request: bytes) -> ChargeRow | None:
        number = self._number(collection)
        with self._connections.read() as db:
            return releases.charge_for(db, number, request)

    def charges(self, collection: str) -> list[ChargeRow]:
        number = self._number(collection)
        with self._connections.read() as db:
            return releases.charges(db, number)

    def ledger(self, first: int = 0) -> list[ChargeRow]:
        with self._connections.read() as db:
            return releases.ledger(db, first)

    def store_result(self, row: ResultRow, record: bytes | None = None) -> ResultRow:
        with self._connections.write() as db:
            return releases.store_result(db, row, record)

    def result(self, release: str) -> ResultRow | None:
        with self._connections.read() as db:
            return releases.result(db, release)

    def results(self, collection: str) -> list[ResultRow]:
        number = self._number(collection)
        with self._connections.read() as db:
            return releases.results(db, number)

    def add_record(
        self, release: str, number: int, record: bytes, *, audit: AuditEntry | None
    ) -> bool:
        with self._connections.write() as db:
            added = releases.add_record(db, release, number, record)
            if added:
                auditing.append(db, audit)
            return added

    def records(self, release: str, first: int = 0) -> list[bytes]:
        with self._connections.read() as db:
            return releases.records(db, release, first)

    def session_sizes(self) -> dict[str, int]:
        with self._connections.read() as db:
            return releases.session_sizes(db)
