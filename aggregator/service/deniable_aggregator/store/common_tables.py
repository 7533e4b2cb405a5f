"""What the classes of tables share; each implements one of `protocols`."""

from __future__ import annotations

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import collection_rows
from deniable_aggregator.store.rejections import Rejections
from deniable_aggregator.store.rows import CollectionRow
from deniable_aggregator.store.statements import Connections


class CommonTables:
    """Connections, the numbers of collections, and rejections that are not yet written.

    A store is one object that has all the tables, so they share these. None calls another.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._rejections = Rejections(connections)
        self._numbers: dict[str, int] = {}

    def _collections(self) -> dict[str, CollectionRow]:
        with self._connections.read() as db:
            rows = collection_rows.read_all(db)
        self._numbers = {collection_id: row.number for collection_id, row in rows.items()}
        return rows

    def _number(self, collection: str) -> int:
        """The collection's number in the tables; another process may have registered it."""
        if collection not in self._numbers:
            self._collections()
        try:
            return self._numbers[collection]
        except KeyError:
            raise StoreError(f"collection {collection!r} has no manifest in this store") from None
