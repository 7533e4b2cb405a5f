"""The log and the rotation of keys over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.keys.rotation import PENDING_SECONDS
from deniable_shared.wire.key_list import verify_key_list
from deniable_shared.wire.transparency_log import GENESIS, LogPage, extend, parse_log_page
from support.builders.api_world import World, authored, opened
from support.builders.store_reports import append_log


@pytest.fixture
def service(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as service:
        service.register(authored())
        yield service


def page(service: World, first: int | None = None) -> LogPage:
    """A page as a device reads it."""
    query = "" if first is None else f"?from={first}"
    answer = service.get(f"/v1/log{query}", None)
    assert (answer.status_code, answer.mimetype) == (200, "application/json")
    return parse_log_page(answer.data, first=first or 0)


def test_the_entries_lead_to_the_head(service: World) -> None:
    shown = page(service)
    assert [entry.type for entry in shown.entries] == ["keys", "manifest"]
    assert extend(GENESIS, shown.entries) == shown.head
    assert (shown.size, shown.head.hex()) == service.running.store.log_head()


def test_a_key_list_is_signed_over_a_log_that_is_shown(service: World) -> None:
    service.clock.now += 3_600
    service.running.tick()
    trusted = [service.running.keys.trust]
    listed = verify_key_list(
        service.get("/v1/keys", None).data, trusted=trusted, now=service.clock()
    )
    entries = page(service).entries[: listed.log_size]
    assert extend(GENESIS, entries).hex() == listed.log_head


@pytest.mark.slow
def test_pages_of_1000_lead_on_to_the_end(service: World) -> None:
    for number in range(1_500):
        append_log(service.running.store, "release", number.to_bytes(32))
    first, second, last = page(service), page(service, 1_000), page(service, 1_502)
    assert [len(each.entries) for each in (first, second, last)] == [1_000, 502, 0]
    head = extend(GENESIS, (*first.entries, *second.entries))
    assert first.head == second.head == last.head == head


def test_what_is_appended_while_a_page_is_read_is_left_to_the_next(
    service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = page(service)
    head = (before.size, before.head.hex())
    append_log(service.running.store, "release", bytes(32))
    monkeypatch.setattr(service.running.store, "log_head", lambda: head)
    assert page(service) == before


def test_beyond_the_end_there_is_the_size_alone(service: World) -> None:
    answer = service.get("/v1/log?from=9", None).get_json()
    assert (answer["size"], answer["entries"]) == (2, [])


@pytest.mark.parametrize("given", ["-1", "x", "1.5", "9007199254740992"])
def test_from_is_the_index_of_an_entry(unchanged_service: World, given: str) -> None:
    answer = unchanged_service.get(f"/v1/log?from={given}", None)
    assert answer.status_code == 400
    assert answer.get_json()["argument"] == "from"


def rotate(service: World, query: str = "") -> dict[str, object]:
    answer = service.send("POST", f"/v1/keys/rotate{query}")
    assert answer.status_code == 200, answer.text
    document: dict[str, object] = answer.get_json()
    return document


def test_rotating_tells_when_the_key_is_used(service: World) -> None:
    from_then = int(service.clock()) + PENDING_SECONDS
    expected = {"id": 2, "suite": 1, "state": "pending", "active_from": from_then}
    assert rotate(service) == expected
    service.clock.now += 60
    assert rotate(service) == expected


def test_rotating_now_uses_it_now(service: World) -> None:
    assert rotate(service, "?suite=2&now=true") == {
        "id": 2,
        "suite": 2,
        "state": "active",
        "active_from": int(service.clock()),
    }


@pytest.mark.parametrize("suite", ["0", "3", "x", "1.0"])
def test_there_are_two_suites(unchanged_service: World, suite: str) -> None:
    before = sorted((unchanged_service.running.settings.data / "keys").iterdir())
    answer = unchanged_service.send("POST", f"/v1/keys/rotate?suite={suite}")
    assert answer.status_code == 400
    assert "1 (X25519) or 2" in answer.get_json()["accepted"]
    assert sorted((unchanged_service.running.settings.data / "keys").iterdir()) == before
