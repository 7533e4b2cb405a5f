"""The audit log."""

from __future__ import annotations

from deniable_aggregator.access import audit
from deniable_aggregator.access.rows import AuditRow
from deniable_aggregator.store import auditing
from deniable_aggregator.store.tables import Tables

__all__ = ["AuditTables"]


class AuditTables(Tables):
    """See `protocols.Audit`."""

    def record_act(self) -> None:
        with self._lent.write(*audit.ALONE):
            pass  # the entry is all there is to write

    def audit(self, first: int = 0) -> list[AuditRow]:
        with self._lent.read() as db:
            return auditing.entries(db, first)

    def audit_head(self) -> tuple[int, str]:
        with self._lent.read() as db:
            size, head = auditing.head(db)
        return size, head.hex()
