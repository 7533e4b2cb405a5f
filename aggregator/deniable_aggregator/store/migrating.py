"""Migrating on purpose: the schema before and after, while nobody else has the database open.

The audit log gets an entry where there was an older schema.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from deniable_aggregator.access import audit
from deniable_aggregator.process.directory_lock import DirectoryLock
from deniable_aggregator.store import schema
from deniable_aggregator.store.opening import driver_is_there, open_store, read_beside
from deniable_shared.epochs import Clock

if TYPE_CHECKING:
    from deniable_aggregator.settings import Settings
    from deniable_aggregator.store.contract import Store

__all__ = ["migrated", "record", "revision"]


def migrated(settings: Settings, clock: Clock = time.time) -> tuple[str | None, str]:
    """(schema before, schema after). LockedError where a service runs; StoreError."""
    lock = DirectoryLock.acquire(settings.data)
    try:
        before = _before(settings)
        if before != schema.HEAD:
            with closing(open_store(settings)) as store:
                record(store, before, actor="deniable migrate", at=clock())
        return before, schema.HEAD
    finally:
        lock.release()


def record(store: Store, before: str | None, *, actor: str, at: float) -> None:
    """An entry that the schema was another one; none where it was not, or there was none."""
    if before not in (None, schema.HEAD):
        with audit.acting("schema-migrated", actor=actor, at=at, before=before, after=schema.HEAD):
            store.record_act()


def revision(settings: Settings) -> str | None:
    """The schema that is there, looked at from beside; None where there is none. StoreError."""
    if not settings.shared:
        path = settings.database
        return schema.revision_of(path) if path.is_file() else None
    with read_beside(settings) as db:
        [[there]] = db.execute("select to_regclass('alembic_version') is not null").fetchall()
        if not there:
            return None
        [[found]] = db.execute("select version_num from alembic_version").fetchall()
    return str(found)


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
