"""Connections that append what `audit.acting` announced, in the transaction that does it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from deniable_aggregator.access import audit
from deniable_aggregator.access.contract import AUDIT_PAGE, AuditRow
from deniable_aggregator.store.statements import Connections, Statements
from deniable_shared.journal import GENESIS

__all__ = ["Audited", "append", "carrying", "entries", "head"]

Lent = TypeVar("Lent", bound=Statements)


class Audited:
    """`Connections` whose first write under an announced act carries its entry."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def write(self) -> AbstractContextManager[Statements]:
        return carrying(self._connections.write())

    def read(self) -> AbstractContextManager[Statements]:
        return self._connections.read()


@contextmanager
def carrying(transaction: AbstractContextManager[Lent]) -> Iterator[Lent]:
    """One transaction for a change and for the entry of its act; neither without the other.

    It must be one that no other writer of the audit log overlaps.
    """
    with transaction as db:
        yield db
        act = audit.announced()
        if act is not None:
            append(db, act.entry())
    if act is not None:
        act.kept = True


def append(db: Statements, entry: bytes) -> None:
    """Add an entry to the chain."""
    size, last = head(db)
    db.execute(
        "insert into audit (position, entry, head) values (?, ?, ?)",
        (size + 1, entry, audit.link(last, entry)),
    )


def head(db: Statements) -> tuple[int, bytes]:
    """(number of entries, head)."""
    rows = db.execute("select position, head from audit order by position desc limit 1").fetchall()
    return rows[0] if rows else (0, GENESIS)


def entries(db: Statements, first: int) -> list[AuditRow]:
    """At most AUDIT_PAGE entries from index `first`."""
    rows = db.execute(
        "select entry, head from audit where position > ? order by position limit ?",
        (first, AUDIT_PAGE),
    )
    return [AuditRow(*row) for row in rows]
