"""Opens the SQLite file that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.store.sqlite.store import SqliteStore
    from deniable_aggregator.store.statements import Statements


def open_store(settings: Settings) -> SqliteStore:
    """See `store.opening`."""
    from deniable_aggregator.store.sqlite.store import SqliteStore

    return SqliteStore(settings.database)


def open_read_only(settings: Settings) -> AbstractContextManager[Statements]:
    """The database for reading only; never creates a file."""
    from deniable_aggregator.store.sqlite.connections import read_file

    return read_file(settings.database)


def current_version(settings: Settings) -> str | None:
    """The present schema; None also without a file."""
    from deniable_aggregator.store.sqlite.schema import version_of

    path = settings.database
    return version_of(path) if path.is_file() else None
