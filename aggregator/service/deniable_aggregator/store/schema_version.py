"""Reads the schema of the database, and migrates it with an audit entry."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from deniable_aggregator.access.audit import AuditEntry
from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import schema
from deniable_aggregator.store.opening import open_store, require_known_kind, store_kind
from deniable_gateway.directory_lock import DirectoryLock

if TYPE_CHECKING:
    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.store.protocols import Store
    from deniable_shared.manifest.epochs import Clock


def migrate(settings: Settings, clock: Clock = time.time) -> tuple[str | None, str]:
    """Migrate; returns (schema before, schema after). Raises LockedError if a service runs."""
    require_known_kind(settings)
    lock = DirectoryLock.acquire(settings.data)
    try:
        before = current_version(settings)
        if before != schema.HEAD:
            open_migrated(settings, actor="deniable store migrate", at=clock()).close()
        return before, schema.HEAD
    finally:
        lock.release()


def open_migrated(settings: Settings, *, actor: str, at: float) -> Store:
    """The migrated store. The audit log gets an entry if the schema was older."""
    store = open_store(settings)
    try:
        _record(store, actor=actor, at=at)
    except BaseException:
        store.close()
        raise
    return store


def require_current(settings: Settings) -> None:
    """Raises StoreError with the remedy unless the database has this program's schema."""
    version = current_version(settings)
    schema.refuse_newer(version, "the database")
    if version is None:
        raise StoreError(
            "the database is missing or empty: put it back or `deniable store restore` a backup; "
            "`deniable ledger reconcile` creates an empty one and continues without the old data"
        )
    if version != schema.HEAD:
        raise StoreError(
            f"the database has schema {version}, this program needs {schema.HEAD}: back it up with "
            "the version that wrote it, then run `deniable store migrate` or `deniable serve`"
        )


def current_version(settings: Settings) -> str | None:
    """The present schema, read without a change; None if there is none. Raises StoreError."""
    return store_kind(settings).current_version(settings)


def _record(store: Store, *, actor: str, at: float) -> None:
    before = store.migrated_from
    if before is not None:
        after = schema.HEAD
        store.record_act(
            AuditEntry.of("schema-migrated", actor=actor, at=at, before=before, after=after)
        )
