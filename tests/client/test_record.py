"""`record`: every outcome, and what none of them may do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deniable_client import Outcome
from deniable_client._state import outbox
from deniable_shared.manifest.model import Manifest
from support.builders.client_world import (
    DAY,
    OTHER,
    SETTINGS,
    URL,
    Device,
    MakeDevice,
    manifest,
    toml,
)
from support.builders.manifest_text import manifest_of

CHOICE = """
name = "theme"
purpose = "Which theme?"
owner = "privacy@example.org"
epsilon = "1"
valid_from = 2026-12-01
expires = 2027-12-01
[domain]
type = "choice"
labels = ["light", "dark", "system"]
"""


def choice() -> Manifest:
    return manifest_of(CHOICE, ingest=[URL])


def test_an_answer_is_queued_once_by_name_or_id(device: Device) -> None:
    client = device.granted()
    assert client.record(manifest().collection, SETTINGS) is Outcome.QUEUED
    assert client.record("settings", SETTINGS) is Outcome.ALREADY_ANSWERED


def test_once_means_once_in_every_later_epoch(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    for days in (1, 30, 90):
        device.clock.advance(days * DAY)
        assert client.record("settings", OTHER) is Outcome.ALREADY_ANSWERED


def test_a_choice_is_answered_by_label_or_index(make_device: MakeDevice) -> None:
    assert make_device(choice(), path=":memory:").granted().record("theme", "dark") == "queued"
    assert make_device(choice(), path=":memory:").granted().record("theme", 2) == "queued"


@pytest.mark.parametrize(
    "value", [None, "dark_mode", {"dark_mode": True}, [True], [True, 2], 1, {**SETTINGS, "x": True}]
)
def test_a_value_outside_the_domain_leaves_no_trace(device: Device, value: object) -> None:
    client = device.granted()
    assert client.record("settings", value) is Outcome.INVALID_VALUE
    assert client.budget().spent == 0
    assert client.flush(early=True).problems == ()


class Hostile(Mapping[str, bool]):
    """A host application's own mapping, with a mistake in it."""

    def __getitem__(self, key: str) -> bool:
        raise RuntimeError("the secret is 42")

    def __iter__(self) -> Iterator[str]:
        return iter(SETTINGS)

    def __len__(self) -> int:
        return len(SETTINGS)


def test_an_exception_of_the_value_itself_does_not_reach_the_app(device: Device) -> None:
    client = device.granted()
    assert client.record("settings", Hostile()) is Outcome.INVALID_VALUE
    assert client.record("settings", SETTINGS) is Outcome.QUEUED


@pytest.mark.parametrize("name", ["nothing", "", 5, None, ["settings"]])
def test_what_is_no_collection_is_told_and_never_raised(device: Device, name: object) -> None:
    client: Any = device.granted()
    assert client.record(name, SETTINGS) is Outcome.UNKNOWN_COLLECTION
    assert client.preview(name, SETTINGS) is Outcome.UNKNOWN_COLLECTION


def test_what_nobody_foresaw_does_not_reach_the_app(
    device: Device, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_given: object) -> None:
        raise LookupError("with a secret in it")

    client = device.granted()
    monkeypatch.setattr(client._recorder, "record", broken)
    assert client.record("settings", SETTINGS) is Outcome.DISABLED
    assert caplog.messages == ["record failed with LookupError"]


def test_a_collection_that_has_not_started_is_unknown(device: Device) -> None:
    client = device.granted()
    device.clock.now = 1_796_083_200.0 - 1  # 2026-12-01, minus a second
    assert client.record("settings", SETTINGS) is Outcome.UNKNOWN_COLLECTION
    device.clock.advance(1)
    assert client.record("settings", SETTINGS) is Outcome.QUEUED


def test_a_collection_ends_at_the_first_second_of_its_expiry(device: Device) -> None:
    client = device.granted()
    device.clock.now = 1_827_619_200.0  # 2027-12-01
    assert client.record("settings", SETTINGS) is Outcome.EXPIRED
    device.clock.advance(-1)
    assert client.record("settings", SETTINGS) is Outcome.QUEUED


def test_a_name_means_its_newest_collection_that_is_not_over(make_device: MakeDevice) -> None:
    old = manifest(expires="2027-02-01")
    new = manifest(valid_from="2027-01-10")
    device = make_device(old, new)
    client = device.granted()
    device.clock.now = 1_798_761_600.0  # 2027-01-01
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    client.flush(early=True)
    assert device.aggregator.received[0].collection == old.collection


def test_a_newest_collection_over_the_ceiling_has_no_older_fallback(
    make_device: MakeDevice,
) -> None:
    newer = manifest(valid_from="2026-12-15", epsilon='"3"')
    client = make_device(manifest(), newer).granted()
    assert client.record("settings", SETTINGS) is Outcome.OVER_CEILING
    assert client.record(manifest().collection, SETTINGS) is Outcome.QUEUED


def test_a_queue_that_is_full_takes_no_more(
    make_device: MakeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "MAX_WAITING", 1)
    client = make_device(manifest("a"), manifest("b")).granted()
    assert client.record("a", SETTINGS) is Outcome.QUEUED
    assert client.record("b", SETTINGS) is Outcome.QUEUE_FULL
    client.flush(early=True)
    assert client.record("b", SETTINGS) is Outcome.QUEUED


@pytest.mark.slow
def test_a_locked_file_is_told_as_busy_and_tossed_nothing(device: Device) -> None:
    client = device.granted()
    with closing(sqlite3.connect(device.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert client.record("settings", SETTINGS) is Outcome.STORAGE_BUSY
    assert client.budget().spent == 0
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    assert "locked" in str(client.flush().problems[0])


def test_a_closed_client_says_so(device: Device) -> None:
    client = device.granted()
    client.close()
    client.close()
    assert client.record("settings", SETTINGS) is Outcome.CLOSED
    assert client.flush(early=True).sent == 0


def test_a_client_is_closed_by_its_with_block(device: Device) -> None:
    with device.granted() as client:
        assert client.record("settings", SETTINGS) is Outcome.QUEUED
    assert client.record("settings", SETTINGS) is Outcome.CLOSED


@pytest.mark.parametrize("days", [-400, -30, -1, 1, 30, 400])
def test_no_movement_of_the_clock_makes_a_second_answer(device: Device, days: int) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.clock.advance(days * DAY)
    assert client.record("settings", OTHER) is not Outcome.QUEUED
    device.clock.advance(-days * DAY)
    assert client.record("settings", OTHER) is Outcome.ALREADY_ANSWERED
    assert client.budget().spent == 1


def test_a_restored_backup_tosses_the_same_coin_for_the_same_value(
    make_device: MakeDevice,
) -> None:
    wide = manifest_of(
        toml("wide").replace(
            'labels = ["dark_mode", "beta"]', f"labels = {[f'l{i}' for i in range(200)]}"
        ),
        ingest=[URL],
    )
    device = make_device(wide)
    device.granted().close()
    backup = Path(device.path).read_bytes()
    value = [index % 3 == 0 for index in range(200)]
    for _ in range(2):
        client = device.open()
        assert client.record("wide", value) is Outcome.QUEUED
        client.flush(early=True)
        client.close()
        Path(device.path).write_bytes(backup)
        device.clock.advance(DAY)
    assert device.payloads[0] == device.payloads[1]
    ids = {each.report.header.report_id for each in device.aggregator.received}
    assert len(ids) == 2


def test_a_clone_in_the_same_epoch_sends_the_same_id(make_device: MakeDevice) -> None:
    device = make_device()
    device.granted().close()
    backup = Path(device.path).read_bytes()
    for _ in range(2):
        client = device.open()
        client.record("settings", SETTINGS)
        client.flush(early=True)
        client.close()
        Path(device.path).write_bytes(backup)
    first, second = device.aggregator.received
    assert first.report.header == second.report.header
    assert first.payload == second.payload


@pytest.mark.slow
def test_two_devices_toss_different_coins(make_device: MakeDevice) -> None:
    shared = make_device(path=":memory:").aggregator
    for _ in range(8):
        device = make_device(path=":memory:", aggregator=shared)
        client = device.granted()
        client.record("settings", SETTINGS)
        client.flush(early=True)
    ids = {each.report.header.report_id for each in shared.received}
    assert len(ids) == 8


def test_an_answer_that_closes_the_client_is_not_recorded(device: Device) -> None:
    client = device.granted()

    class Closing(dict[str, bool]):
        def __getitem__(self, label: str) -> bool:
            client.close()
            return True

    assert client.record("settings", Closing(SETTINGS)) is Outcome.CLOSED
    assert device.open().budget().spent == 0


def test_a_collection_whose_row_was_lost_is_joined_again(device: Device) -> None:
    client = device.granted()
    with client._state.transaction() as db:
        db.execute("DELETE FROM course")
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    assert client.flush(early=True).accepted == 1
