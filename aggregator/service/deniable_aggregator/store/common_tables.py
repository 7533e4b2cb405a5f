"""The base of all classes of tables; each class implements one of `protocols`.

Rejections are counted in memory and written later, so that a flood causes no disk writes.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.rows import CollectionRow
from deniable_aggregator.store.statements import Connections, Row, Statements, read_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

_ADD = """
insert into rejections (collection, reason, n)
select number, ?, ? from collections where number = ?
on conflict (collection, reason) do update set n = rejections.n + excluded.n"""
_COLLECTIONS = "select id, number, closed, archived from collections"
_READ = "select reason, n from rejections where collection = ?"


@dataclass(slots=True)
class Rejections:
    """Counts of rejected reports of all collections, by row number of the collection."""

    connections: Connections
    _waiting: Counter[tuple[int, str]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, number: int, counts: Mapping[str, int]) -> None:
        """Add counts by reason."""
        with self._lock:
            self._waiting.update({(number, reason): n for reason, n in counts.items()})

    def of(self, number: int) -> dict[str, int]:
        """Counts by reason, including those not yet written."""
        # Same lock as `flush`, so that a counter that is being written is counted once.
        with self._lock, self.connections.read() as db:
            rows = read_rows(Row, db.execute(_READ, (number,)))
            counts = Counter({row["reason"]: row["n"] for row in rows})
            for (owner, reason), n in self._waiting.items():
                if owner == number:
                    counts[reason] += n
        return dict(counts)

    def forget(self, number: int) -> None:
        """Forget unwritten counts of a deleted collection."""
        with self._lock:
            for each in [each for each in self._waiting if each[0] == number]:
                del self._waiting[each]

    def flush(self) -> None:
        """Write the counts; those of collections that another process deleted are lost."""
        with self._lock:
            if not self._waiting:
                return
            with self.connections.write() as db:
                for (number, reason), n in sorted(self._waiting.items()):
                    db.execute(_ADD, (reason, n, number))
            self._waiting.clear()


class CommonTables:
    """Connections, row numbers of collections, and unwritten rejections.

    A store is one object with all classes of tables, so they share these. None calls another.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._rejections = Rejections(connections)
        self._numbers: dict[str, int] = {}

    def _collections(self) -> dict[str, CollectionRow]:
        with self._connections.read() as db:
            rows = _read_collections(db)
        self._numbers = {collection_id: row.number for collection_id, row in rows.items()}
        return rows

    def _number(self, collection: str) -> int:
        """The collection's row number; reads it if another process has registered it."""
        if collection not in self._numbers:
            self._collections()
        try:
            return self._numbers[collection]
        except KeyError:
            raise StoreError(f"collection {collection!r} has no manifest in this store") from None


def _read_collections(db: Statements) -> dict[str, CollectionRow]:
    """Every collection, by id."""
    return {
        row["id"]: CollectionRow(row["number"], row["closed"] == 1, row["archived"] == 1)
        for row in read_rows(Row, db.execute(_COLLECTIONS))
    }
