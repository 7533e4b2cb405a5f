"""`repeat = "memoized"`: a toss a hold, a renewal an epoch, the last answer for ever."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from deniable_client import Ceiling, Outcome
from deniable_client._state import keychain
from deniable_shared.manifest.model import Manifest
from support.builders.client_world import (
    DAY,
    OTHER,
    SETTINGS,
    URL,
    Device,
    MakeDevice,
    manifest,
    nothing,
    toml,
)
from support.builders.manifest_text import manifest_of

HOLD = 5
FIELDS = {"repeat": '"memoized"', "epsilon_lifetime": '"4"', "hold_epochs": str(HOLD)}
TWO = manifest(**FIELDS)


def wide(bits: int = 64, **fields: str) -> Manifest:
    """The same question with so many bits that two tosses never look alike."""
    labels = [f"l{index}" for index in range(bits)]
    text = toml(**{"linkable": "true", **FIELDS, **fields})
    return manifest_of(
        text.replace('labels = ["dark_mode", "beta"]', f"labels = {labels}"), ingest=[URL]
    )


@pytest.fixture
def memoized(make_device: MakeDevice) -> Device:
    """A device at the start of a hold of five days; two holds are paid, with 2 each."""
    device = make_device(TWO)
    epoch = device.clock() // DAY
    device.clock.advance((-(epoch - TWO.first_epoch) % HOLD) * DAY)
    return device


def test_a_hold_is_charged_once_and_its_epochs_are_free(memoized: Device) -> None:
    client = memoized.granted()
    outcomes = []
    for _ in range(HOLD):
        outcomes.append(client.record("settings", SETTINGS))
        memoized.clock.advance(DAY)
    assert outcomes == ["queued"] + ["held"] * (HOLD - 1)
    assert client.budget().spent == 2


def test_an_epoch_has_one_report(memoized: Device) -> None:
    client = memoized.granted()
    client.record("settings", SETTINGS)
    assert client.record("settings", OTHER) is Outcome.ALREADY_ANSWERED
    assert client.flush(early=True).accepted == 1


def test_after_the_paid_holds_the_last_answer_serves_for_nothing(memoized: Device) -> None:
    client = memoized.granted()
    outcomes = []
    for _ in range(4):
        outcomes.append(client.record("settings", SETTINGS))
        memoized.clock.advance(DAY)
        outcomes.append(client.record("settings", OTHER))
        memoized.clock.advance((HOLD - 1) * DAY)
    assert (
        outcomes == ["queued", "held", "queued", "held", "repeated", "repeated"] + ["repeated"] * 2
    )
    assert client.budget().spent == 4
    assert client.budget().collections["settings"].left == 0


def test_no_permanent_answer_and_no_budget_is_silence(memoized: Device) -> None:
    client = memoized.granted(ceiling=Ceiling(2, 2, "2"))
    client.record("settings", SETTINGS)
    client.consent("denied")
    client.consent("granted")
    assert client.record("settings", OTHER) is Outcome.ALREADY_ANSWERED
    memoized.clock.advance(HOLD * DAY)
    assert client.record("settings", OTHER) is Outcome.BUDGET_EXHAUSTED


def test_a_permanent_answer_above_the_ceiling_is_never_tossed(memoized: Device) -> None:
    client = memoized.granted(ceiling=Ceiling(2, 1, 8))
    assert client.record("settings", SETTINGS) is Outcome.OVER_CEILING


def test_reports_renew_the_permanent_answer_and_no_later_value(make_device: MakeDevice) -> None:
    """One bit at ε = 19 is a lie once in 10^8: four of them, and the permanent one, never here."""
    one = wide(1, epsilon='"19"', epsilon_permanent='"19.5"', epsilon_lifetime='"20"')
    device = make_device(one)
    device.clock.advance((-(device.clock() // DAY - one.first_epoch) % HOLD) * DAY)
    client = device.granted(ceiling=Ceiling(20, 20, 99))
    outcomes = []
    for value in (True, False, False, False):
        outcomes.append(client.record("settings", [value]))
        client.flush(early=True)
        device.clock.advance(DAY)
    assert outcomes == ["queued", "held", "held", "held"]
    assert device.payloads == [b"\x80"] * 4


def permanent_of(device: Device) -> tuple[object, ...]:
    with closing(sqlite3.connect(device.path)) as db:
        row = db.execute("SELECT permanent, tossed, hold FROM course").fetchone()
        return tuple(row)


def test_of_a_hold_only_the_permanent_answer_is_kept(make_device: MakeDevice) -> None:
    device = make_device(wide())
    client = device.granted()
    value = [bool(int(bit)) for bit in f"{0xDEADBEEFCAFEF00D:064b}"]
    client.record("settings", value)
    client.close()
    assert 0xDEADBEEFCAFEF00D.to_bytes(8, "big") not in Path(device.path).read_bytes()
    permanent, tossed, hold = permanent_of(device)
    assert len(bytes(permanent)) == 8  # type: ignore[call-overload]  # a column of type object
    assert tossed == hold


def test_a_clock_that_goes_back_a_hold_tosses_nothing(memoized: Device) -> None:
    client = memoized.granted()
    memoized.clock.advance(HOLD * DAY)
    client.record("settings", SETTINGS)
    memoized.clock.advance(-HOLD * DAY)
    assert client.record("settings", OTHER) is Outcome.ALREADY_ANSWERED
    assert client.budget().spent == 2


def test_a_hold_that_was_skipped_costs_nothing(memoized: Device) -> None:
    client = memoized.granted()
    client.record("settings", SETTINGS)
    memoized.clock.advance(3 * HOLD * DAY)
    assert client.record("settings", OTHER) is Outcome.QUEUED
    assert client.budget().spent == 4


def test_the_two_rounds_and_the_ids_come_from_labels_of_their_own() -> None:
    key, identity = bytes(32), b"i" * 32
    streams = {
        keychain.coins(key, identity=identity, hold=7, value=b"\x80").bytes(16),
        keychain.renewal_coins(key, identity=identity, epoch=7, permanent=b"\x80").bytes(16),
        keychain.renewal_coins(key, identity=identity, epoch=7, permanent=b"\x00").bytes(16),
        keychain.renewal_coins(key, identity=identity, epoch=8, permanent=b"\x80").bytes(16),
        keychain.sampling_coins(key, identity=identity, hold=7).bytes(16),
        keychain.public_coins(key, identity=identity, hold=7).bytes(16),
    }
    assert len(streams) == 6


def test_a_rotation_between_the_days_of_a_hold_changes_no_byte_inside(memoized: Device) -> None:
    client = memoized.granted()
    client.record("settings", SETTINGS)
    memoized.aggregator.script.append(nothing(503))
    client.flush(early=True)
    memoized.aggregator.rotate(2)
    memoized.aggregator.script.append(0x0B)
    client.flush(early=True)
    sent = memoized.aggregator.received
    assert {each.report.header.key_id for each in sent} == {1, 2}
    assert len({(each.payload, each.report.header.report_id) for each in sent}) == 1


def sampled() -> Manifest:
    """Half of 64 bits; which ones is public."""
    return wide(mechanism='"rr-sampled/1"', sampled="32")


def places(payload: bytes) -> list[int]:
    return [code >> 1 for code in payload]


def test_an_index_set_is_tossed_once_a_hold_without_the_value(make_device: MakeDevice) -> None:
    device = make_device(sampled())
    device.clock.advance((-(device.clock() // DAY - TWO.first_epoch) % HOLD) * DAY)
    client = device.granted()
    for _ in range(HOLD):
        client.record("settings", [True] * 64)
        client.flush(early=True)
        device.clock.advance(DAY)
    sets = {tuple(places(payload)) for payload in device.payloads}
    assert len(sets) == 1
    client.record("settings", [True] * 64)
    client.flush(early=True)
    assert tuple(places(device.payloads[-1])) not in sets  # one of C(64, 32): by chance 5e-19


def test_a_clone_with_another_value_tells_the_same_places(make_device: MakeDevice) -> None:
    device = make_device(sampled())
    device.granted().close()
    backup = Path(device.path).read_bytes()
    for value in (True, False):
        client = device.open()
        client.record("settings", [value] * 64)
        client.flush(early=True)
        client.close()
        Path(device.path).write_bytes(backup)
    first, second = device.payloads
    assert places(first) == places(second)
    assert first != second  # bits are alike once in two at most: all 32 by chance 2e-10
