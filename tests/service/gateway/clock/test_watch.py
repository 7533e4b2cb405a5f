"""When a wall clock is believed: steps, starts, gaps, and the three ways out of the doubt."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from deniable_gateway.clock import reading, record
from deniable_gateway.clock.reading import Reading
from deniable_gateway.clock.watch import LIMIT_SECONDS, SETTLING_SECONDS
from deniable_gateway.problem import Problem
from support.builders.data_directory import DAY, NOON
from support.doubles.clocks import Clocks, Watched
from support.tiers import by_tier

HOUR = 3_600


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def reboot(watched: Watched, monkeypatch: pytest.MonkeyPatch, name: str = "next boot") -> None:
    """The boot clock begins again, under another id."""
    monkeypatch.setattr("deniable_gateway.clock.watch.boot_id", lambda: name)
    watched.clocks.boot = 5.0
    watched.start()


@pytest.mark.parametrize("seconds", [400 * DAY, 10 * DAY, LIMIT_SECONDS + 1, -301, -NOON + 1])
def test_a_clock_step_is_noticed_and_forgotten_after_it_is_undone(
    watched: Watched, seconds: float
) -> None:
    watched.clocks.step(seconds)
    assert not watched.watch.tick()
    assert watched.reason
    watched.clocks.pass_time(15)
    assert not watched.watch.tick()
    watched.clocks.step(-seconds)
    assert watched.watch.tick()
    assert watched.reason is None
    watched.suspension.require_none()


def test_no_time_is_given_out_between_a_step_and_the_next_tick(watched: Watched) -> None:
    assert watched.watch.now() == watched.clocks.wall
    watched.clocks.step(400 * DAY)
    with pytest.raises(Problem, match=r"jumped 400\.0 days ahead") as caught:
        watched.watch.now()
    assert caught.value.slug == "unavailable"
    assert caught.value.retry_after is not None
    assert watched.reason == caught.value.detail
    watched.clocks.step(-400 * DAY)
    assert watched.watch.now() == watched.clocks.wall


@pytest.mark.parametrize("seconds", [300, -300, 0])
def test_a_step_of_five_minutes_is_allowed(watched: Watched, seconds: float) -> None:
    watched.clocks.step(seconds)
    assert watched.watch.tick()
    assert watched.watch.now() == watched.clocks.wall


def test_small_steps_add_up(watched: Watched) -> None:
    for _ in range(3):
        assert watched.watch.tick()
        watched.clocks.step(101)
        watched.clocks.pass_time(60)
    assert not watched.watch.tick()
    watched.clocks.step(-101)
    assert watched.watch.tick()


@pytest.mark.slow
@pytest.mark.deeper
def test_time_that_passes_is_no_step(watched: Watched) -> None:
    for _ in range(by_tier(200, 1_000)):
        watched.clocks.pass_time(3 * DAY)
        assert watched.watch.tick()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (10 * DAY, "the clock jumped 10.0 days ahead"),
        (-3 * HOUR, "the clock jumped 3.0 hours back"),
        (360, "the clock jumped 6 minutes ahead"),
    ],
)
def test_the_sentence_says_how_far_and_the_way_out(
    watched: Watched, seconds: float, said: str
) -> None:
    watched.clocks.step(seconds)
    watched.watch.tick()
    way = "set it right, or run `deniable doctor confirm-clock` if it is right"
    assert watched.reason == f"{said}: {way}"


def test_where_nothing_can_be_confirmed_a_start_is_the_way_out() -> None:
    watched = Watched(None)
    watched.clocks.step(DAY)
    assert not watched.watch.tick()
    assert watched.reason == (
        "the clock jumped 24.0 hours ahead: set it right, or start this process again if it is "
        "right"
    )
    watched.start()
    assert watched.watch.tick()


def test_a_clock_that_the_kernel_calls_synchronised_is_believed(watched: Watched) -> None:
    watched.clocks.step(10 * DAY)
    assert not watched.watch.tick()
    watched.synchronised = True
    assert watched.watch.tick()
    watched.synchronised = False
    assert watched.watch.tick()
    watched.clocks.step(-10 * DAY)
    assert not watched.watch.tick()


def test_a_confirmation_reaches_every_process_of_the_directory(tmp_path: Path) -> None:
    clocks = Clocks()
    first, second = Watched(tmp_path, clocks), Watched(tmp_path, clocks)
    clocks.step(10 * DAY)
    assert not first.watch.tick()
    assert not second.watch.tick()
    record.write_confirmed(tmp_path, first.watch.read())
    assert first.watch.tick()
    clocks.pass_time(30)
    assert second.watch.tick()
    second.start()
    assert second.watch.tick()
    clocks.step(-10 * DAY)
    assert not first.watch.tick()
    assert not second.watch.tick()


@pytest.mark.parametrize("again", [10 * DAY, 10 * DAY - HOUR])
def test_a_confirmation_is_about_one_moment(watched: Watched, again: float) -> None:
    """Another step, later, is not confirmed, also where it leads to the same wall time."""
    watched.clocks.step(10 * DAY)
    watched.watch.tick()
    record.write_confirmed(watched.folder or Path(), watched.watch.read())
    assert watched.watch.tick()
    watched.clocks.pass_time(HOUR)
    watched.clocks.step(-10 * DAY)
    record.write_confirmed(watched.folder or Path(), watched.watch.read())
    assert watched.watch.tick()
    watched.clocks.pass_time(HOUR)
    watched.clocks.step(again)
    assert not watched.watch.tick()


def test_a_confirmation_holds_for_the_next_start(watched: Watched) -> None:
    watched.watch.tick()
    watched.clocks.step(-10 * DAY)
    record.write_confirmed(watched.folder or Path(), watched.watch.read())
    watched.clocks.pass_time(DAY)
    watched.start()
    assert watched.watch.tick()


@pytest.mark.parametrize("seconds", [400 * DAY, -10 * DAY])
def test_a_start_after_a_step_within_one_boot_sees_the_step(
    watched: Watched, seconds: float
) -> None:
    """A restart while the clock is wrong, or a worker that takes a dead one's place."""
    watched.watch.tick()
    watched.clocks.step(seconds)
    watched.clocks.pass_time(20)
    watched.start()
    assert watched.reason
    assert not watched.watch.tick()
    watched.clocks.step(-seconds)
    assert watched.watch.tick()


def test_a_start_before_the_last_tick_waits_until_that_has_passed(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.watch.tick()
    watched.clocks.step(-2 * HOUR)
    reboot(watched, monkeypatch)
    assert watched.reason
    watched.clocks.pass_time(HOUR)
    assert not watched.watch.tick()
    watched.clocks.pass_time(HOUR)
    assert watched.watch.tick()
    watched.clocks.step(-HOUR)
    assert not watched.watch.tick()


def test_a_gap_in_the_past_is_no_step(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.watch.tick()
    watched.clocks.step(90 * DAY)
    reboot(watched, monkeypatch)
    assert watched.reason is None
    assert watched.watch.tick()


def test_a_machine_that_slept_has_not_stepped(watched: Watched) -> None:
    watched.watch.tick()
    watched.clocks.pass_time(3 * DAY)
    watched.start()
    assert watched.watch.tick()


def test_without_a_record_what_was_signed_in_the_future_counts(tmp_path: Path) -> None:
    watched = Watched(tmp_path, newest=NOON + 10 * DAY)
    assert watched.reason
    record.write_confirmed(tmp_path, watched.watch.read())
    assert watched.watch.tick()
    watched.start()
    assert watched.watch.tick()


def test_a_doubted_time_is_never_noted(watched: Watched) -> None:
    folder = watched.folder or Path()
    watched.watch.tick()
    before = (folder / record.NAME).read_bytes()
    watched.clocks.step(400 * DAY)
    watched.watch.tick()
    assert (folder / record.NAME).read_bytes() == before


def test_the_tick_is_noted_once_a_minute_for_its_owner_alone(watched: Watched) -> None:
    path = (watched.folder or Path()) / record.NAME
    noted = []
    for _ in range(25):
        watched.watch.tick()
        noted.append(json.loads(path.read_text())["tick"]["boot"])
        watched.clocks.pass_time(5)
    assert sorted(set(noted)) == [1_000.0, 1_060.0, 1_120.0]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == [record.NAME]


def moments(tick: str, mark: str, settled: str) -> bytes:
    """As clock.json is written."""
    found = f'"boot": 1, "boot_id": "{reading.boot_id()}"'
    return (
        f'{{"tick": {{"wall": {tick}, {found}}}, "mark": {{"wall": {mark}, {found}}}, '
        f'"settled": {settled}}}'
    ).encode()


@pytest.mark.parametrize(
    "damage",
    [
        moments("NaN", "1", "0"),
        moments("1", "1e400", "0"),
        moments("1", "1", "-Infinity"),
        b'{"wall": 1e400, "boot": 1, "boot_id": ""}',
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"tick": 1}',
        b"\xff\xfe",
        b'{"tick": {"wall": "x"}}',
    ],
)
def test_a_damaged_note_is_as_good_as_none(watched: Watched, damage: bytes) -> None:
    folder = watched.folder or Path()
    watched.watch.tick()
    for name in (record.NAME, record.CONFIRMED):
        (folder / name).write_bytes(damage)
    watched.start()
    assert watched.watch.tick()
    watched.clocks.step(DAY)
    assert not watched.watch.tick()


def test_a_disk_that_takes_no_note_does_not_end_the_tick(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(record, "write", full)
    assert watched.watch.tick()


@pytest.mark.deeper
def test_what_is_settled_was_believed_an_hour_ago(watched: Watched) -> None:
    for _ in range(by_tier(2, 6) * 12 * 24):
        watched.watch.tick()
        watched.clocks.pass_time(50)
        behind = watched.clocks.wall - watched.watch.settled
        assert behind >= SETTLING_SECONDS
    assert behind <= 2 * SETTLING_SECONDS + 50


def test_short_runs_settle_as_one_long_run_does(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `deniable spool drain --once` from a timer: each process ticks once."""
    for number in range(5):
        reboot(watched, monkeypatch, f"boot {number}")
        watched.watch.tick()
        watched.clocks.pass_time(DAY)
    assert watched.watch.settled == NOON + 3 * DAY


def test_a_gap_settles_nothing_before_an_hour_has_passed(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.watch.tick()
    watched.clocks.step(400 * DAY)
    reboot(watched, monkeypatch)
    for _ in range(59):
        watched.watch.tick()
        assert watched.watch.settled <= NOON
        watched.clocks.pass_time(60)
    watched.clocks.pass_time(60)
    watched.watch.tick()
    assert watched.watch.settled == NOON + 400 * DAY


def test_a_wrong_time_that_was_believed_does_not_stay_settled(watched: Watched) -> None:
    watched.synchronised = True
    watched.clocks.step(400 * DAY)
    for _ in range(200):
        watched.watch.tick()
        watched.clocks.pass_time(60)
    assert watched.watch.settled > NOON + 400 * DAY
    watched.clocks.step(-400 * DAY)
    watched.watch.tick()
    assert watched.watch.settled <= watched.clocks.wall


def test_the_boot_clock_runs_and_cannot_be_set() -> None:
    assert reading.boot_time() <= reading.boot_time()
    assert reading.boot_id() == reading.boot_id() != ""


def test_two_boots_show_a_step_back_only() -> None:
    before, after = Reading(NOON, 900.0, "one"), Reading(NOON + DAY, 1.0, "two")
    assert reading.step_since(before, after) == 0.0
    assert reading.step_since(after, before) == -DAY
    assert reading.age_of(before, after) == DAY


@pytest.mark.parametrize(
    ("state", "status", "apart", "synchronised"),
    [
        (0, 0x2001, 0, True),
        (0, 0x2001, 299, True),
        (0, 0x2001, 301, False),
        (0, 0x2041, 0, False),
        (5, 0x2001, 0, False),
        (-1, 0, 0, False),
    ],
)
def test_the_kernel_is_believed_about_its_own_clock_only(
    monkeypatch: pytest.MonkeyPatch, state: int, status: int, apart: int, synchronised: bool
) -> None:
    def answered(timex: reading._Timex) -> int:
        timex.status, timex.seconds = status, int(NOON) - apart
        return state

    monkeypatch.setattr(reading, "_adjtimex", answered)
    assert reading.synchronised(NOON) is synchronised


@pytest.mark.skipif(sys.platform != "linux", reason="adjtimex is Linux's")
def test_the_kernel_answers_with_its_own_time() -> None:
    import time

    timex = reading._Timex(modes=0)
    assert reading._adjtimex(timex) >= 0
    assert abs(timex.seconds - time.time()) < 60
