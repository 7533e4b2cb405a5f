"""Which store the settings name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deniable_aggregator.errors import StoreError
from deniable_aggregator.store.statements import Statements

if TYPE_CHECKING:
    from deniable_aggregator.settings import Settings
    from deniable_aggregator.store.protocols import Store


def open_store(settings: Settings) -> Store:
    """SQLite or PostgreSQL, brought up to date. StoreError where it cannot be opened."""
    if not settings.shared:
        from deniable_aggregator.store.sqlite.store import SqliteStore

        return SqliteStore(settings.database)
    with require_driver():
        from deniable_aggregator.store.postgres.store import PostgresStore
    return PostgresStore(settings.store)


@contextmanager
def open_read_only(settings: Settings) -> Iterator[Statements]:
    """The database for reading alone, whether or not a service has it open; StoreError."""
    if not settings.shared:
        from deniable_aggregator.store.sqlite.connections import read_file

        with read_file(settings.database) as file:
            yield file
        return
    with require_driver():
        from deniable_aggregator.store.postgres.pool import read_once
    with read_once(settings.store) as session:
        yield session


@contextmanager
def require_driver() -> Iterator[None]:
    """StoreError that says what to install where PostgreSQL's driver is missing."""
    try:
        yield
    except ImportError as error:
        raise StoreError(
            "store is PostgreSQL, which needs its driver: pip install deniable-aggregator[postgres]"
        ) from error
