"""The audit log as a chain of hashes, in SQL. Called inside the store's transactions."""

from __future__ import annotations

from deniable_aggregator.access.audit import AuditEntry, link
from deniable_aggregator.access.rows import AUDIT_PAGE, AuditRow
from deniable_aggregator.store.common_tables import CommonTables
from deniable_aggregator.store.statements import Statements, read_rows
from deniable_aggregator.store.transparency_log import LogHead
from deniable_shared.wire.transparency_log import GENESIS


def append(db: Statements, entry: AuditEntry | None) -> None:
    """Add an entry to the chain; None adds nothing.

    Call it in the transaction that does the act. No other writer of the audit log may overlap it.
    """
    if entry is None:
        return
    (size, last), encoded = head(db), entry.encode()
    db.execute(
        "insert into audit (position, entry, head) values (?, ?, ?)",
        (size + 1, encoded, link(last, encoded)),
    )


def head(db: Statements) -> LogHead:
    """The size and head of the whole chain."""
    statement = "select position as size, head from audit order by position desc limit 1"
    [*heads] = read_rows(LogHead, db.execute(statement))
    return heads[0] if heads else LogHead(0, GENESIS)


def entries(db: Statements, first: int) -> list[AuditRow]:
    """At most AUDIT_PAGE entries from index `first`."""
    rows = db.execute(
        "select entry, head from audit where position > ? order by position limit ?",
        (first, AUDIT_PAGE),
    )
    return list(read_rows(AuditRow, rows))


class AuditTables(CommonTables):
    """See `protocols.Audit`."""

    def record_act(self, entry: AuditEntry) -> None:
        with self._connections.write() as db:
            append(db, entry)

    def audit(self, first: int = 0) -> list[AuditRow]:
        with self._connections.read() as db:
            return entries(db, first)

    def audit_head(self) -> tuple[int, str]:
        with self._connections.read() as db:
            size, last = head(db)
        return size, last.hex()
