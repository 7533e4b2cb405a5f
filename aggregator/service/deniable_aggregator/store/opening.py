"""Opens the store that the settings name. Each kind of store is one line.

A kind is a module of three functions. PostgreSQL loads its driver only when one of them is called.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.postgres import opening as postgres
from deniable_aggregator.store.sqlite import opening as sqlite
from deniable_gateway.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.store.protocols import Store
    from deniable_aggregator.store.statements import Statements


class StoreKind(Protocol):
    """Opens stores of one kind. Each function may raise StoreError."""

    def open_store(self, settings: Settings) -> Store:
        """The store, migrated to this program's schema."""

    def open_read_only(self, settings: Settings) -> AbstractContextManager[Statements]:
        """The database for reading only, also while a service has it open."""

    def current_version(self, settings: Settings) -> str | None:
        """The present schema, read without a change; None if there is none."""


KINDS: Mapping[str, StoreKind] = MappingProxyType(
    {
        "sqlite:///": sqlite,
        "postgres://": postgres,
        "postgresql://": postgres,
    }
)
"""Scheme of an address → its kind. An empty address is SQLite in the data directory."""


def store_kind(settings: Settings) -> StoreKind:
    """Raises SettingsError for an unknown address. It hides the address: it may have a password."""
    if not settings.store:
        return sqlite
    for beginning, kind in KINDS.items():
        if settings.store.startswith(beginning):
            return kind
    *others, last = (f"{beginning}…" for beginning in KINDS)
    raise SettingsError(
        f"store must be empty (SQLite in the data directory), {', '.join(others)} or {last}, "
        f"got {_scheme(settings)!r}"
    )


def require_known_kind(settings: Settings) -> None:
    """Raises SettingsError for an unknown kind. Call it before writing other files."""
    store_kind(settings)


def is_postgres(settings: Settings) -> bool:
    """Whether the store is a PostgreSQL server."""
    return store_kind(settings) is postgres


def place_of(settings: Settings) -> str:
    """Where the store is, for people: it hides the password of an address."""
    if is_postgres(settings):
        return postgres.place_of(settings)
    return f"the SQLite file {settings.database}"


def require_portable(settings: Settings) -> None:
    """Raises StoreError for a store whose rows cannot be copied."""
    if store_kind(settings) not in (sqlite, postgres):
        raise StoreError(
            "backup, restore and doctor support SQLite and PostgreSQL stores, "
            f"got {_scheme(settings)}://…"
        )


def open_store(settings: Settings) -> Store:
    """The store, migrated to this program's schema. Raises StoreError if it cannot be opened."""
    return store_kind(settings).open_store(settings)


def open_read_only(settings: Settings) -> AbstractContextManager[Statements]:
    """The database for reading only, also while a service has it open. Raises StoreError."""
    return store_kind(settings).open_read_only(settings)


def _scheme(settings: Settings) -> str:
    return settings.store.partition(":")[0]
