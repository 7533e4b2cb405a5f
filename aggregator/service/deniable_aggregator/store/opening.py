"""Which store the settings name: one line for each kind.

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
    """How the stores of one kind are opened. Each function may raise StoreError."""

    def open_store(self, settings: Settings) -> Store:
        """The store, brought up to date."""

    def open_read_only(self, settings: Settings) -> AbstractContextManager[Statements]:
        """The database for reading alone, whether or not a service has it open."""

    def current_version(self, settings: Settings) -> str | None:
        """The schema that is there, read without a change; None where there is none."""


KINDS: Mapping[str, StoreKind] = MappingProxyType(
    {
        "sqlite:///": sqlite,
        "postgres://": postgres,
        "postgresql://": postgres,
    }
)
"""How an address begins → its kind. An empty address is SQLite in the data directory."""


def store_kind(settings: Settings) -> StoreKind:
    """SettingsError for an address of no kind, without a word of it: it may hold a password."""
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
    """Raises SettingsError. Callers that write other files first ask for this before."""
    store_kind(settings)


def is_postgres(settings: Settings) -> bool:
    """Whether the store is a PostgreSQL server."""
    return store_kind(settings) is postgres


def require_portable(settings: Settings) -> None:
    """Raises StoreError for a store whose rows no code reads and writes one by one."""
    if store_kind(settings) not in (sqlite, postgres):
        raise StoreError(
            "backup, restore and doctor know SQLite and PostgreSQL stores, "
            f"got {_scheme(settings)}://…"
        )


def open_store(settings: Settings) -> Store:
    """The store, brought up to date. StoreError where it cannot be opened."""
    return store_kind(settings).open_store(settings)


def open_read_only(settings: Settings) -> AbstractContextManager[Statements]:
    """The database for reading alone, whether or not a service has it open; StoreError."""
    return store_kind(settings).open_read_only(settings)


def _scheme(settings: Settings) -> str:
    return settings.store.partition(":")[0]
