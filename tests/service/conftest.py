"""A store alone, a service with one collection, and a service with its application."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.operations.doctor import addresses
from deniable_shared.manifest.ingest_origins import is_loopback
from support.builders import api_world, databases, service_world
from support.builders.databases import KINDS, AnyStore, Database
from support.doubles import quick_flask

quick_flask.install()


@pytest.fixture(autouse=True)
def nothing_is_asked_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Public addresses in tests do not exist, so no test requests them."""
    there = addresses.ask
    monkeypatch.setattr(addresses, "ask", lambda at: there(at) if is_loopback(at) else None)


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A migrated database with one collection: every test that asks runs on both kinds."""
    made = databases.fresh(request.param, tmp_path)
    yield made
    made.delete()


@pytest.fixture(params=KINDS)
def unfilled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database with nothing in it, not even tables."""
    made = databases.unfilled(request.param, tmp_path)
    yield made
    made.delete()


@pytest.fixture
def store(database: Database) -> Iterator[AnyStore]:
    """The store over `database`."""
    opened = database.open()
    yield opened
    opened.close()


@pytest.fixture
def bare_service(tmp_path: Path) -> Iterator[service_world.World]:
    """A service with one collection, at noon of a day in its life."""
    with service_world.opened(tmp_path) as opened:
        yield opened


@pytest.fixture
def service(tmp_path: Path) -> Iterator[api_world.World]:
    """A service with its application, a clock that a test sets, and a token of each role."""
    with api_world.opened(tmp_path) as opened:
        yield opened
