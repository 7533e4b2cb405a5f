"""`/readyz`: each check by itself makes the service unready, is named, and recovers by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.operations import readiness
from support.builders.api_world import DAY, NOON, World, opened

BOOTED = 1_000.0
Break = Callable[[World, pytest.MonkeyPatch], None]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path, boot_clock=lambda: BOOTED) as service:
        service.clock.now = NOON
        yield service


def lost_database(service: World, patch: pytest.MonkeyPatch) -> None:
    def gone() -> None:
        raise StoreError("the database refuses: connection to 192.0.2.7 lost")

    patch.setattr(service.running.store, "ping", gone)


def no_key_in_use(service: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(type(service.running.keys), "listed_keys", property(lambda keys: ()))


def lost_key_file(service: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(service.running.keys, "opener", lambda key_id: None)


def expired_list(service: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(type(service.running.keys), "listed_until", property(lambda keys: NOON))


def read_only_disk(service: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(readiness, "is_writable", lambda place: False)


def full_disk(service: World, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(readiness, "free_bytes", lambda place: readiness.LEAST_FREE_BYTES - 1)


def clock_set(by: float) -> Break:
    return lambda service, patch: patch.setattr(service.clock, "now", service.clock.now + by)


@pytest.mark.parametrize(
    ("broken", "check", "said"),
    [
        (lost_database, "database", "does not answer"),
        (no_key_in_use, "keys", "no key is in use"),
        (lost_key_file, "keys", "the file of the key in use is missing"),
        (expired_list, "keys", "the key list has expired"),
        (read_only_disk, "disk", "cannot be written"),
        (full_disk, "disk", "is full"),
        (clock_set(-2 * DAY), "clock", "jumped 2.0 days back: set it right, or run"),
        (clock_set(2 * DAY), "clock", "jumped 2.0 days ahead: set it right, or run"),
    ],
)
def test_what_is_wrong_is_named_alone_and_goes_when_it_is_over(
    service: World, monkeypatch: pytest.MonkeyPatch, broken: Break, check: str, said: str
) -> None:
    with monkeypatch.context() as patch:
        broken(service, patch)
        answer = service.get("/readyz", None)
        document = answer.get_json()
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "5"
        assert check in document["detail"]
        assert said in document["checks"].pop(check)
        assert set(document["checks"].values()) == {"ok"}
        assert "192.0.2.7" not in answer.text
        assert service.get("/healthz", None).status_code == 200
    assert service.get("/readyz", None).status_code == 200


def test_alive_asks_neither_database_nor_disk(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setattr(service.running, "store", None)
        without.setattr(readiness.Readiness, "check", None)
        assert service.get("/healthz", None).status_code == 200
