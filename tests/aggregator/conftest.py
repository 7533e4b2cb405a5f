"""A store alone, and a service with one collection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.store.sqlite import SqliteStore
from support import core_world, stores
from support.core_world import World


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A migrated database file with one collection."""
    return stores.database(tmp_path)


@pytest.fixture
def store(database: Path) -> Iterator[SqliteStore]:
    """The store over `database`."""
    opened = SqliteStore(database)
    yield opened
    opened.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A service with one collection, at noon of a day in its life."""
    with core_world.opened(tmp_path) as opened:
        yield opened
