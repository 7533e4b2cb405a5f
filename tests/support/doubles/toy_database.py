"""A pytest plugin: the suite of stores runs over the toy store alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.store.opening import open_store
from deniable_aggregator.store.sqlite.store import SqliteStore
from support.builders.databases import KINDS, Sqlite

if TYPE_CHECKING:
    from support.doubles.kill_switch import KillSwitch


class ToyDatabase(Sqlite):
    """Opened by its address, as a service does."""

    @property
    def address(self) -> str:
        return f"toy://{self.path}"

    def open(self, switch: KillSwitch | None = None) -> SqliteStore:
        store = open_store(Settings(store=self.address))
        assert isinstance(store, SqliteStore)
        assert type(store).__name__ == "ToyStore"
        if switch is None:
            return store
        store.close()
        return type(store)(self.path, factory=switch.sqlite)


KINDS.clear()
KINDS["toy"] = ToyDatabase
