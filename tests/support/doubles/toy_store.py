"""A toy store: one file that is named by toy://PATH.

It has SQLite's statements, so that only what opens it is new.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from deniable_aggregator.store.sqlite.connections import read_file
from deniable_aggregator.store.sqlite.schema import version_of
from deniable_aggregator.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.store.statements import Statements


class ToyStore(SqliteStore):
    """See `protocols.Store`."""


def open_store(settings: Settings) -> ToyStore:
    """See `store.opening`, as for the others."""
    return ToyStore(path_of(settings))


def open_read_only(settings: Settings) -> AbstractContextManager[Statements]:
    """A file is never made."""
    return read_file(path_of(settings))


def current_version(settings: Settings) -> str | None:
    """None, too, where there is no file."""
    path = path_of(settings)
    return version_of(path) if path.is_file() else None


def path_of(settings: Settings) -> Path:
    """The file of an address."""
    return Path(settings.store.removeprefix("toy://"))
