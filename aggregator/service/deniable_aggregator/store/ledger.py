"""Tables of the ledger: charges of releases, their results, and records of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.store import audit_log, ledger_rows
from deniable_aggregator.store.common_tables import CommonTables

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.store.rows import ChargeCheck, ChargeRow, ResultRow


class LedgerTables(CommonTables):
    """See `protocols.Ledger`."""

    def charge(self, row: ChargeRow, decide: ChargeCheck, *, audit: AuditEntry | None) -> ChargeRow:
        number = self._number(row.collection)
        with self._connections.write() as db:
            charged = ledger_rows.charge(db, number, row, decide)
            if charged is row:
                audit_log.append(db, audit)
            return charged

    def charge_for(self, collection: str, request: bytes) -> ChargeRow | None:
        number = self._number(collection)
        with self._connections.read() as db:
            return ledger_rows.charge_for(db, number, request)

    def charges(self, collection: str) -> list[ChargeRow]:
        number = self._number(collection)
        with self._connections.read() as db:
            return ledger_rows.charges(db, number)

    def ledger(self, first: int = 0) -> list[ChargeRow]:
        with self._connections.read() as db:
            return ledger_rows.ledger(db, first)

    def store_result(self, row: ResultRow, record: bytes | None = None) -> ResultRow:
        with self._connections.write() as db:
            return ledger_rows.store_result(db, row, record)

    def result(self, release: str) -> ResultRow | None:
        with self._connections.read() as db:
            return ledger_rows.result(db, release)

    def results(self, collection: str) -> list[ResultRow]:
        number = self._number(collection)
        with self._connections.read() as db:
            return ledger_rows.results(db, number)

    def add_record(
        self, release: str, number: int, record: bytes, *, audit: AuditEntry | None
    ) -> bool:
        with self._connections.write() as db:
            added = ledger_rows.add_record(db, release, number, record)
            if added:
                audit_log.append(db, audit)
            return added

    def records(self, release: str, first: int = 0) -> list[bytes]:
        with self._connections.read() as db:
            return ledger_rows.records(db, release, first)

    def session_sizes(self) -> dict[str, int]:
        with self._connections.read() as db:
            return ledger_rows.session_sizes(db)
