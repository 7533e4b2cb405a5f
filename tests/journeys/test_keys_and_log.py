"""Devices over rotations of keys, and before operators who show them different pasts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_client import LogForkedError, Outcome
from deniable_shared.manifest.epochs import epoch_at
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.wire import dsse
from deniable_shared.wire.key_list import KeyList, verify_key_list
from support.builders.api_world import DAY, authored
from support.builders.devices_and_service import Device, Sent, Spine

MEMOIZED = 'repeat = "memoized"\nlinkable = true\nepsilon_permanent = "4"\nhold_epochs = 30\n'
HOUR = 3_600
WEEK = 7 * DAY


@pytest.fixture
def spine(tmp_path: Path) -> Iterator[Spine]:
    (tmp_path / "operator").mkdir()
    spine = Spine(tmp_path / "operator", 1, repeats=(MEMOIZED,))
    yield spine
    spine.stop()


@pytest.fixture
def phone(spine: Spine) -> Iterator[Device]:
    phone = Device(spine, 0)
    phone.consent("granted")
    yield phone
    phone.die()


def pass_time(spine: Spine, seconds: float) -> None:
    spine.clock.now += seconds
    spine.tick()


def answer(phone: Device, value: str = "red") -> list[Sent]:
    """Record and upload; what left for this epoch."""
    phone.record(value)
    phone.upload()
    spine = phone.spine
    epoch = epoch_at(spine.clock(), phone.manifest.epoch_seconds)
    return [each for each in spine.sent(phone.manifest) if each.header.epoch == epoch]


def report_keys(spine: Spine) -> list[Path]:
    return sorted((spine.folder / "data" / "keys").glob("report-*"))


def n(phone: Device) -> int:
    return phone.spine.counted(phone.manifest)[0]


def copied(spine: Spine, folder: Path) -> Spine:
    """The same operator a second time, from the data directory as it is now."""
    spine.stop()
    shutil.copytree(spine.folder, folder)
    return Spine(folder, 0, clock=spine.clock)


@pytest.mark.parametrize("suite", [1, 2])
def test_a_report_from_before_a_rotation_is_sealed_again_unchanged(
    spine: Spine, phone: Device, suite: int
) -> None:
    answer(phone)  # the key list is known now, for two weeks
    spine.rotate(1, at_once=True)
    if suite == 2:
        spine.rotate(2, at_once=True)
    pass_time(spine, 4 * DAY)  # key 1 is destroyed
    first, again = answer(phone, "blue")
    assert (first.header.key_id, again.header.key_id) == (1, suite + 1)
    assert first.plaintext == again.plaintext
    assert first.header.report_id == again.header.report_id
    assert n(phone) == 2


def test_a_report_on_its_way_to_an_expired_key_is_counted_as_it_is(
    spine: Spine, phone: Device
) -> None:
    answer(phone)
    pass_time(spine, DAY)
    phone.record("green")
    spine.rotate(1, at_once=True)
    phone.upload()
    assert [each.header.key_id for each in spine.sent(phone.manifest)] == [1, 1]
    assert n(phone) == 2


def test_a_device_follows_months_of_rotations(spine: Spine, phone: Device) -> None:
    for _ in range(16):
        answer(phone)
        pass_time(spine, WEEK)
        pass_time(spine, DAY)
    assert {each.header.key_id for each in spine.sent(phone.manifest)} == {1, 2}
    assert [key.name for key in report_keys(spine)] == ["report-2.key"]
    assert n(phone) == 16
    assert Outcome.LOG_FORKED not in phone.answers


def test_devices_follow_key_lists_that_were_signed_ahead(spine: Spine, phone: Device) -> None:
    """A clock that was 400 days ahead and believed: later lists are issued no earlier."""
    answer(phone)
    pass_time(spine, 400 * DAY)
    spine.clock.now -= 399 * DAY
    ahead = verified(spine)
    assert ahead.issued > spine.clock() + 398 * DAY
    assert ready(spine)
    register(spine, "later")
    spine.tick()
    assert verified(spine).version == ahead.version + 1, "the log has grown"
    spine.rotate(1, at_once=True)
    newest = verified(spine)
    assert newest.issued == ahead.issued
    assert newest.expires - newest.issued == 2 * WEEK
    pass_time(spine, 2 * WEEK)  # the list that the device knows is over
    (sent,) = answer(phone)
    assert sent.header.key_id == newest.active.id
    assert Outcome.LOG_FORKED not in phone.answers
    assert n(phone) == 2


def verified(spine: Spine) -> KeyList:
    """The current list as a device sees it now."""
    assert spine.service is not None
    keys = spine.service.keys
    return verify_key_list(keys.key_list(), trusted=[keys.trust], now=spine.clock())


def ready(spine: Spine) -> bool:
    return spine.app.test_client().get("/readyz").status_code == 200


def test_a_device_that_is_shown_another_past_stops_for_good(
    spine: Spine, phone: Device, tmp_path: Path
) -> None:
    answer(phone)
    other = copied(spine, tmp_path / "other")
    for number, world in enumerate((spine, other)):
        world.start()
        register(world, f"only-here-{number}")
        pass_time(world, HOUR)
    pass_time(spine, 2 * WEEK)
    assert len(answer(phone)) == 1
    pass_time(other, 2 * WEEK)
    take_over(spine, other)
    assert_stops(phone, other)


def test_an_operator_who_goes_on_from_an_older_copy_shows_another_past(
    spine: Spine, phone: Device, tmp_path: Path
) -> None:
    answer(phone)
    older = copied(spine, tmp_path / "older")
    older.stop()
    spine.start()
    for number in range(2):
        register(spine, f"later-{number}")
        pass_time(spine, WEEK)
    assert len(answer(phone)) == 1
    pass_time(older, 2 * WEEK)
    take_over(spine, older)
    assert_stops(phone, older)


def assert_stops(phone: Device, other: Spine) -> None:
    """After a log that does not continue the known one, it sends nothing any more."""
    counted = other.counted(phone.manifest)[0]
    uploads = len(phone.spine.uploads)
    assert phone.record("blue") is Outcome.REPEATED
    (problem,) = phone.client().flush(60.0, early=True).problems
    assert isinstance(problem, LogForkedError)
    pass_time(other, DAY)
    assert phone.record("blue") is Outcome.LOG_FORKED
    phone.die()
    assert phone.record("blue") is Outcome.LOG_FORKED
    assert len(phone.spine.uploads) == uploads
    assert other.counted(phone.manifest)[0] == counted
    other.stop()


def register(spine: Spine, name: str) -> None:
    manifest = authored(name)
    signed = dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=spine.operator_seed)
    assert spine.service is not None
    spine.service.registry.apply(signed, audit=None)


def take_over(spine: Spine, other: Spine) -> None:
    """From now on the devices of `spine` reach the other one."""
    spine.reach = other.reach  # type: ignore[method-assign]  # the test replaces it
