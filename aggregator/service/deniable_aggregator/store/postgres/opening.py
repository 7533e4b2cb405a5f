"""Opens the PostgreSQL database that the settings name."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.store.postgres.store import PostgresStore
    from deniable_aggregator.store.statements import Statements


def open_store(settings: Settings) -> PostgresStore:
    """See `store.opening`."""
    with require_driver():
        from deniable_aggregator.store.postgres.store import PostgresStore
    return PostgresStore(settings.store)


def open_read_only(settings: Settings) -> AbstractContextManager[Statements]:
    """A connection for one read-only transaction."""
    with require_driver():
        from deniable_aggregator.store.postgres.pool import read_once
    return read_once(settings.store)


def current_version(settings: Settings) -> str | None:
    """The present schema; None in an empty database."""
    with require_driver():
        from deniable_aggregator.store.postgres.schema import version_of
    with open_read_only(settings) as db:
        return version_of(db)


def place_of(settings: Settings) -> str:
    """The names of the database and its server, without a password."""
    with require_driver():
        from psycopg.conninfo import conninfo_to_dict
    parts = conninfo_to_dict(settings.store)
    name, host = parts.get("dbname"), parts.get("host")
    return f"the PostgreSQL database{f' {name}' if name else ''}{f' at {host}' if host else ''}"


@contextmanager
def require_driver() -> Iterator[None]:
    """Raises StoreError with the package to install if PostgreSQL's driver is missing."""
    try:
        yield
    except ImportError as error:
        raise StoreError(
            "store is PostgreSQL, which needs its driver: "
            'pip install "deniable-aggregator[postgres]"'
        ) from error
