"""The audit log."""

from __future__ import annotations

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.access.rows import AuditRow
from deniable_aggregator.store import auditing
from deniable_aggregator.store.tables import Tables

__all__ = ["AuditTables"]


class AuditTables(Tables):
    """See `protocols.Audit`."""

    def record_act(self, entry: AuditEntry) -> None:
        with self._connections.write() as db:
            auditing.append(db, entry)

    def audit(self, first: int = 0) -> list[AuditRow]:
        with self._connections.read() as db:
            return auditing.entries(db, first)

    def audit_head(self) -> tuple[int, str]:
        with self._connections.read() as db:
            size, head = auditing.head(db)
        return size, head.hex()
