"""What the program before this one left opens in this one, and says the same.

The state in `tests/fixtures/kept_state` was made by `support.builders.kept_state_maker` on commit
5340146, and the answers in its `expected.json` are those of that program.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.backup import copying
from deniable_aggregator.operations.service import Service
from support.builders import kept_state
from support.builders.kept_state import PASSPHRASE, Kept
from support.processes import postgres_server
from support.tiers import grid

KINDS = ("sqlite", "postgres")


@pytest.fixture(scope="module")
def kept() -> Kept:
    return Kept.read()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy that may be written to."""
    return kept_state.copied(tmp_path / "kept")


@pytest.fixture(params=grid(KINDS, by_default=["sqlite"]))
def settings(request: pytest.FixtureRequest, folder: Path) -> Iterator[Settings]:
    """Of the data directory over each kind of database."""
    kind = str(request.param)
    address = kept_state.restored_database(folder) if kind == "postgres" else ""
    yield Settings(data=folder / kind / "data", store=address)
    if address:
        postgres_server.drop(address)


@pytest.fixture
def kept_service(settings: Settings, kept: Kept) -> Iterator[tuple[Service, Flask]]:
    with kept_state.opened(settings, kept.now) as both:
        yield both


def kind_of(service: Service) -> str:
    return "postgres" if service.settings.shared else "sqlite"


def test_every_address_answers_as_before(kept_service: tuple[Service, Flask], kept: Kept) -> None:
    service, app = kept_service
    found = kept_state.answers(app, kept)
    assert found == {**kept.answers["sqlite"], **kept.answers[kind_of(service)]}


def test_every_page_answers_the_person_who_was_signed_in(
    kept_service: tuple[Service, Flask], kept: Kept
) -> None:
    service, app = kept_service
    found = kept_state.pages(app, kept, kind_of(service))
    assert {page: status for page, status in found.items() if status != 200} == {}


def test_the_database_is_the_one_that_the_directory_knows(
    kept_service: tuple[Service, Flask], kept: Kept
) -> None:
    service, app = kept_service
    assert app.test_client().get("/readyz").status_code == 200
    service.tick()
    assert kept_state.answers(app, kept) == {
        **kept.answers["sqlite"],
        **kept.answers[kind_of(service)],
    }


def test_a_device_goes_on_where_it_was(
    kept_service: tuple[Service, Flask], kept: Kept, folder: Path
) -> None:
    _, app = kept_service
    assert kept_state.device_story(app, kept, folder / "client.db") == kept.client


def test_a_spool_drains_to_the_same_tallies(
    kept_service: tuple[Service, Flask], kept: Kept, folder: Path
) -> None:
    service, _ = kept_service
    assert kept_state.drained(service, kept, folder / "spool") == kept.spool


@pytest.mark.parametrize("kind", grid(KINDS, by_default=["sqlite"]))
def test_a_backup_restores_to_the_same(kind: str, kept: Kept, folder: Path, tmp_path: Path) -> None:
    """But for the audit log, which says that it was restored, and those who were signed in."""
    address = postgres_server.empty() if kind == "postgres" else ""
    target = Settings(data=tmp_path / "new" / "data", store=address)
    copying.restore(
        target,
        folder / "backup.zip",
        passphrase=lambda: PASSPHRASE,
        nothing_released_since=True,
        clock=lambda: kept.now,
    )
    with kept_state.opened(target, kept.now) as (_, app):
        found = kept_state.answers(app, kept)
    new = {path for path, said in found.items() if said != kept.answers["sqlite"][path]}
    assert new <= {"/v1/audit", "/v1/sessions"}
    if address:
        postgres_server.drop(address)
