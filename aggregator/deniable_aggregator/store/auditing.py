"""Connections that append what `audit.acting` announced, in the transaction that does it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from deniable_aggregator.access import audit
from deniable_aggregator.access.rows import AUDIT_PAGE, AuditRow
from deniable_aggregator.store.statements import Connections, Statements
from deniable_shared.journal import GENESIS

__all__ = ["Audited", "append", "carrying", "entries", "head"]

Lent = TypeVar("Lent", bound=Statements)


class Audited:
    """`Connections` that say which acts a transaction does, and then carry the entry of one."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def write(self, *acts: str) -> AbstractContextManager[Statements]:
        return carrying(self._connections.write(), *acts)

    def read(self) -> AbstractContextManager[Statements]:
        return self._connections.read()


@contextmanager
def carrying(transaction: AbstractContextManager[Lent], *acts: str) -> Iterator[Lent]:
    """One transaction for a change and for the entry of its act; neither without the other.

    What happens to be written under another act than `acts` is none of its business. It must be a
    transaction that no other writer of the audit log overlaps.
    """
    act = audit.announced(*acts)
    if act is None:
        with transaction as db:
            yield db
        return
    act.idle = False
    with transaction as db:
        yield db
        if not act.idle:
            append(db, act.entry())
    act.kept = not act.idle


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
