"""Restarted, upgraded, restored: what is estimated is the same to the last integer.

Of one real service, loaded in two halves; a backup is made while the second one comes in.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.cli.command_client import local
from deniable_aggregator.client.service_client import ServiceClient
from deniable_aggregator.operations.backup import copying
from deniable_aggregator.operations.loadgen.plan import LoadPlan
from deniable_aggregator.operations.loadgen.sealing import fetch_target, seal_bodies
from deniable_aggregator.operations.loadgen.sending import UploadTarget, send
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.schema import HEAD
from deniable_aggregator.store.schema_version import migrate
from support.builders.previous_schema import postgres_before, sqlite_before
from support.processes import postgres_server
from support.processes.live_service import Live, live
from support.tiers import by_tier, grid

pytestmark = pytest.mark.processes

PLAN = LoadPlan(rate=100, connections=8, reports=1, seconds=by_tier(1, 2))
HALF = PLAN.requests // 2
WORKERS = {"sqlite": 1, "postgresql": 2}
PASSPHRASE = "a long passphrase for the keys"


@dataclass
class Past:
    """What was sent, what was estimated at the end, and a backup from the middle."""

    settings: Settings
    collection: str
    sent: list[bytes]
    estimates: dict[str, object]
    backup: Path


@pytest.fixture(scope="module", params=grid(["sqlite", "postgresql"], by_default=["postgresql"]))
def past(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Past]:
    folder, kind = tmp_path_factory.mktemp("past"), request.param
    store = postgres_server.empty() if kind == "postgresql" else ""
    with live(folder, store=store, workers=WORKERS[kind]) as service:
        with service.connect() as connection:
            target = fetch_target(connection, "settings")
        sent = seal_bodies(target, PLAN.requests, 1, lambda done: None)
        given(service, sent[:HALF])
        backup = under_load(service, sent[HALF:], folder / "backup.zip")
        with service.connect() as connection:
            estimates = estimated(connection, service.manifest.collection)
        past = Past(service.settings, service.manifest.collection, sent, estimates, backup)
    yield past
    if store:
        postgres_server.drop(store)


def under_load(service: Live, reports: list[bytes], path: Path) -> Path:
    """A backup made after the first of these reports and before the last."""
    begun = threading.Event()
    loading = threading.Thread(target=given, args=(service, reports, begun))
    loading.start()
    begun.wait()
    try:
        return copying.back_up(service.settings, path, PASSPHRASE, 0.0)
    finally:
        loading.join()


def given(service: Live, reports: list[bytes], begun: threading.Event | None = None) -> None:
    """Every report is acknowledged; `begun` is set at the first."""
    address = UploadTarget(service.server.address, service.path)
    told = begun or threading.Event()
    outcome = send(address, reports, PLAN, lambda done: told.set())
    assert (dict(outcome.statuses), outcome.refused) == ({200: len(reports)}, 0)


def estimated(client: ServiceClient, collection: str) -> dict[str, object]:
    return client.estimates(collection, {}).json()


def opened_again(past: Past, settings: Settings) -> dict[str, object]:
    """What a service that starts over these files answers."""
    with local(settings) as connection:
        return estimated(connection, past.collection)


def sent_again(past: Past, settings: Settings) -> list[int]:
    """Codes of the reports that are refused when every one is sent once more."""
    service = Service.open(settings)
    try:
        failed = service.ingest.upload(
            past.collection, b"".join(past.sent), prefix=None, relay=True
        )
    finally:
        service.close()
    return [status.error for status in failed]


def test_every_acknowledged_report_is_in_the_estimate(past: Past) -> None:
    assert past.estimates["n"] == PLAN.requests


def test_a_restart_changes_nothing(past: Past) -> None:
    assert opened_again(past, past.settings) == past.estimates


def test_reports_that_are_all_sent_again_change_nothing(past: Past) -> None:
    assert sent_again(past, past.settings) == []
    assert opened_again(past, past.settings) == past.estimates


def test_an_upgrade_from_the_previous_schema_changes_nothing(past: Past, tmp_path: Path) -> None:
    if past.settings.shared:
        old = replace(past.settings, store=postgres_server.empty())
        version = postgres_before(past.settings.store, old.store)
    else:
        old = replace(past.settings, store=f"sqlite:///{tmp_path / 'old.db'}")
        version = sqlite_before(past.settings.database, tmp_path / "old.db")
    assert migrate(old) == (version, HEAD)
    assert opened_again(past, old) == past.estimates
    assert sent_again(past, old) == []
    assert opened_again(past, old) == past.estimates
    if old.shared:
        postgres_server.drop(old.store)


@pytest.mark.exhaustive
def test_a_backup_under_load_with_all_reports_again_is_the_same_estimate(
    past: Past, tmp_path: Path
) -> None:
    """The backup holds some of the second half; what it lacks comes again, what it has too."""
    store = postgres_server.empty() if past.settings.shared else ""
    target = replace(past.settings, data=tmp_path / "data", store=store)
    copying.restore(target, past.backup, passphrase=lambda: PASSPHRASE, nothing_released_since=True)
    n = opened_again(past, target)["n"]
    assert isinstance(n, int)
    assert HALF <= n <= PLAN.requests
    assert sent_again(past, target) == []
    assert opened_again(past, target) == past.estimates
    if store:
        postgres_server.drop(store)
