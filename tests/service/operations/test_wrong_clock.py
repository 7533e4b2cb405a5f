"""A service whose clock jumped does nothing irreversible, not even on request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.access import audit
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.operations.service import Service
from deniable_aggregator.spool.consumer import SpoolConsumer
from deniable_aggregator.spool.worker_context import make_worker_context
from deniable_gateway.clock import record
from deniable_gateway.clock.watch import SETTLING_SECONDS
from deniable_gateway.problem import Problem
from deniable_shared.wire.report import decode_errors
from support.builders.api_world import DAY, NOON, TODAY, Moment, World, authored, opened
from support.builders.data_directory import prepared_on_postgres
from support.doubles.browser import Browser
from support.processes import postgres_server

STEPS = (400 * DAY, 10 * DAY, -10 * DAY)
BITS = [True, False]


@pytest.fixture
def boot() -> Moment:
    return Moment(1_000.0)


@pytest.fixture
def service(tmp_path: Path, boot: Moment) -> Iterator[World]:
    with opened(tmp_path, boot_clock=boot, rotate_keys_days=30) as made:
        made.clock.now = NOON
        yield made


@pytest.fixture
def collection(service: World) -> Collection:
    more = 'retention_days = 30\nrequires = ["voucher/1"]\n'
    found = service.register(authored("settings", more=more))
    service.count(found, [BITS] * 4)
    return found


def pass_time(service: World, boot: Moment, seconds: float) -> None:
    service.clock.now += seconds
    boot.now += seconds


def state(service: World) -> list[str]:
    """All that is kept: rows of the database, key files, signed lists."""
    keys = sorted(service.running.settings.data.joinpath("keys").iterdir())
    return [*service.digest(), *(f"{path.name}: {path.read_text()}" for path in keys)]


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_wrong_clock_changes_nothing_and_is_over_at_once(
    service: World, boot: Moment, collection: Collection, step: float
) -> None:
    service.running.tick()
    before = state(service)
    service.clock.now += step
    for _ in range(4):
        service.running.tick()
        pass_time(service, boot, 5)
    assert state(service) == before
    assert service.get("/readyz", None).status_code == 503
    service.clock.now -= step
    service.running.tick()
    assert service.get("/readyz", None).status_code == 200
    [row] = service.running.store.epochs(collection.id)
    assert (row.n, row.closed_at, row.expired_at) == (4, None, None)


@pytest.mark.parametrize("step", STEPS)
def test_an_upload_between_the_step_and_the_next_tick_is_not_judged(
    service: World, boot: Moment, step: float
) -> None:
    collection = service.register(authored("theme"))
    report = service.report(collection, BITS)
    service.clock.now += step
    refused = service.upload(collection, report)
    assert (refused.status_code, refused.get_json(force=True)["retry"]) == (503, True)
    assert 20 <= int(refused.headers["Retry-After"]) <= 41
    pass_time(service, boot, 15)
    service.clock.now -= step
    service.running.tick()
    accepted = service.upload(collection, report)
    assert accepted.status_code == 200
    assert decode_errors(accepted.data) == []
    assert [row.n for row in service.running.store.epochs(collection.id)] == [1]


def test_a_confirmation_is_in_the_audit_log_once(service: World, boot: Moment) -> None:
    service.clock.now += 20 * DAY
    confirmed = int(service.clock.now)
    record.write_confirmed(service.running.settings.data, service.running.clock_watch.read())
    for _ in range(3):
        service.running.tick()
        pass_time(service, boot, 5)
    found = [audit.parse(row) for row in service.running.store.audit()]
    entries = [each for each in found if each.act == "clock-confirmed"]
    assert [(each.at, each.actor) for each in entries] == [
        (confirmed, "deniable doctor confirm-clock")
    ]


ACTS = (
    "collections/settings/epochs/{today}/close?early=true",
    "collections/settings/close",
    "collections/settings/voucher-key/replace",
    "keys/rotate",
    "keys/rotate?now=true",
    "ledger/reconcile",
)


@pytest.mark.parametrize("act", ACTS)
def test_acts_of_an_admin_are_refused_until_the_clock_is_confirmed(
    service: World, collection: Collection, act: str
) -> None:
    path = f"/v1/{act.format(today=TODAY)}"
    before = state(service)
    service.clock.now += 20 * DAY
    refused = service.send("POST", path)
    assert refused.status_code == 503
    assert "run `deniable doctor confirm-clock`" in refused.get_json()["detail"]
    assert state(service) == before
    record.write_confirmed(service.running.settings.data, service.running.clock_watch.read())
    assert service.send("POST", path).status_code == 200


@pytest.mark.slow
def test_a_key_is_not_rotated_on_the_page_either(service: World) -> None:
    keys = service.running.keys.listed_keys
    admin = Browser.signed_in(service.app, service.running, "admin")
    service.clock.now += 600
    refused = admin.post("/keys", act="key-rotated", suite="1", now="true")
    assert refused.status_code == 503
    assert "jumped 10 minutes ahead" in refused.text
    assert service.running.keys.listed_keys == keys
    service.clock.now -= 600
    assert admin.post("/keys", act="key-rotated", suite="1", now="true").status_code == 303
    assert service.running.keys.listed_keys != keys


@pytest.mark.slow
def test_no_release_is_drawn(service: World) -> None:
    collection = service.register(authored("theme", read="releases"))
    service.count(collection, [BITS] * 5)
    service.running.close_epoch(collection, TODAY, audit=None)
    body = {"mechanism": "histogram", "epsilon": "0.1"}
    path = f"/v1/collections/{collection.id}/releases"
    service.clock.now += 20 * DAY
    refused = service.send("POST", path, "analyst", json=body)
    assert refused.status_code == 503
    assert "jumped 20.0 days ahead" in refused.get_json()["detail"]
    assert list(service.running.store.charges(collection.id)) == []


def test_a_spool_is_neither_drained_nor_noted_as_counted(service: World, tmp_path: Path) -> None:
    (tmp_path / "spool").mkdir()
    opening = SpoolConsumer(service.running, tmp_path / "spool", clock=service.clock)
    opening.run_once(at_once=True)
    noted = dict(service.running.store.spool_progress())
    service.clock.now += 20 * DAY
    with pytest.raises(Problem, match=r"jumped 20\.0 days ahead"):
        opening.run_once(at_once=True)
    with pytest.raises(Problem, match=r"jumped 20\.0 days ahead"):
        opening.finish()
    assert dict(service.running.store.spool_progress()) == noted
    with pytest.raises(Problem, match=r"jumped 20\.0 days ahead"):
        make_worker_context(service.running, tmp_path)


@pytest.mark.slow
def test_tallies_outlive_a_wrong_clock_that_was_believed_for_an_hour(
    service: World, boot: Moment, collection: Collection
) -> None:
    """As after a start with a clock that is not yet set: the epoch closes, its counts stay."""
    record.write_confirmed(service.running.settings.data, service.running.clock_watch.read())
    service.clock.now += 400 * DAY
    record.write_confirmed(service.running.settings.data, service.running.clock_watch.read())
    for _ in range(SETTLING_SECONDS // 60):
        service.running.tick()
        pass_time(service, boot, 60)
    [row] = service.running.store.epochs(collection.id)
    assert row.closed_at is not None
    assert (row.n, row.expired_at) == (4, None)
    service.running.tick()
    assert service.running.store.epochs(collection.id)[0].expired_at is not None


@pytest.mark.slow
def test_a_process_with_a_wrong_clock_hands_the_lead_to_another(tmp_path: Path) -> None:
    settings = prepared_on_postgres(tmp_path)
    clocks = Moment(), Moment()
    first, second = (
        Service.open(settings, clock=clock, boot_clock=lambda: 1_000.0) for clock in clocks
    )
    try:
        first.tick()
        second.tick()
        assert leading(first, second) == [True, False]
        clocks[0].now += 10 * DAY
        first.tick()
        second.tick()
        assert leading(first, second) == [False, True]
        clocks[0].now -= 10 * DAY
        first.tick()
        assert leading(first, second) == [False, True]
    finally:
        first.close()
        second.close()
        postgres_server.drop(settings.store)


def leading(*services: Service) -> list[bool]:
    """The process that holds the leader's lock; reading it takes no lock."""
    return [service.store._leadership._leads for service in services]  # type: ignore[attr-defined]  # only PostgreSQL's store has it
