"""Migrating on purpose: the schema before and after, while nobody else has the database open."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from deniable_aggregator.process.directory_lock import DirectoryLock
from deniable_aggregator.store import schema
from deniable_aggregator.store.opening import driver_is_there

if TYPE_CHECKING:
    from deniable_aggregator.settings import Settings

__all__ = ["migrated"]


def migrated(settings: Settings) -> tuple[str | None, str]:
    """(schema before, schema after). LockedError where a service runs; StoreError."""
    lock = DirectoryLock.acquire(settings.data)
    try:
        return _before(settings), schema.HEAD
    finally:
        lock.release()


def _before(settings: Settings) -> str | None:
    if not settings.shared:
        path = settings.database
        before = schema.revision_of(path) if path.exists() else None
        schema.migrate(path)
        return before
    with driver_is_there():
        import psycopg

        from deniable_aggregator.store import postgres_schema
        from deniable_aggregator.store.sessions import conninfo, refusals
    with refusals(), closing(psycopg.connect(conninfo(settings.store))) as connection:
        before = postgres_schema.revision_of(connection)
    postgres_schema.migrate(settings.store)
    return before
