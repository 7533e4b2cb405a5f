"""When reports are sent: spread, one new at a wake-up, backed off, never after their epoch."""

from __future__ import annotations

from functools import partial

import pytest

from deniable_client import Client, FlushResult, Reply, TransportError
from deniable_client._state.installation import LEASE_SECONDS
from deniable_client._uploading import retry_policy
from deniable_client._uploading.timed_transport import TimedTransport
from deniable_client.testing import Request
from deniable_shared.manifest.epochs import closes_at, epoch_at
from support.builders.client_world import (
    DAY,
    SETTINGS,
    START,
    Device,
    MakeDevice,
    manifest,
    nothing,
)

NAMES = [f"q{number}" for number in range(6)]
HALF_GRACE = DAY


def answered(device: Device) -> Client:
    """A client with six answers waiting."""
    client = device.granted()
    for name in NAMES:
        client.record(name, SETTINGS)
    return client


@pytest.fixture
def six(make_device: MakeDevice) -> Device:
    """A device with six collections."""
    return make_device(*(manifest(name, epsilon='"0.5"') for name in NAMES))


def send_times(client: Client) -> list[float]:
    """When the rows are due, from the outside: the schedule is private to the state."""
    with client._state.reading() as db:
        return [row[0] for row in db.execute("SELECT send_at FROM outbox ORDER BY send_at")]


def test_reports_are_spread_over_the_rest_of_the_epoch_and_half_the_grace(six: Device) -> None:
    times = send_times(answered(six))
    end = START - START % DAY + DAY
    assert all(START <= moment <= end + HALF_GRACE for moment in times)
    assert len(set(times)) == len(NAMES)


def test_nothing_is_sent_before_its_moment(six: Device) -> None:
    client = answered(six)
    first = send_times(client)[0]
    six.clock.now = first - 0.001
    assert client.flush().sent == 0
    six.clock.now = first
    assert client.flush().sent == 1


def test_a_wake_up_sends_one_new_report(six: Device) -> None:
    client = answered(six)
    six.clock.now = send_times(client)[-1]
    assert [client.upload_due().sent for _ in range(7)] == [1, 1, 1, 1, 1, 1, 0]


def test_a_wake_up_sends_at_most_three_retries_and_one_new(six: Device) -> None:
    six.aggregator.script.extend([TransportError("no network")] * 5)
    client = answered(six)
    latest = send_times(client)[-1]
    six.clock.now = latest
    for _ in range(5):
        assert client.upload_due().sent >= 1
        six.clock.now = latest
    six.clock.now = latest + 3600
    assert client.upload_due().sent == 4


def test_early_sends_what_is_not_due_yet(six: Device) -> None:
    assert answered(six).flush(early=True).accepted == len(NAMES)


@pytest.mark.slow
def test_the_order_of_sending_is_not_the_order_of_recording(six: Device) -> None:
    orders = set()
    for _ in range(12):
        device = Device(":memory:", six.aggregator, six.shipped)
        six.aggregator.received.clear()
        answered(device).flush(early=True)
        orders.add(tuple(each.collection for each in six.aggregator.received))
        device.close()
    assert len(orders) > 6  # of 720 orders; a false alarm has a chance below 1e-9


@pytest.mark.parametrize("attempts", range(1, 40))
def test_the_back_off_doubles_from_thirty_seconds_to_six_hours(attempts: int) -> None:
    doubled = 30.0 * 2 ** (attempts - 1)
    assert retry_policy.back_off_span(attempts) == min(doubled, 6 * 3600)


def test_a_back_off_is_drawn_between_nothing_and_its_span(device: Device) -> None:
    device.aggregator.script.extend([nothing(503)] * 3)
    client = device.granted()
    client.record("settings", SETTINGS)
    for attempt in range(1, 4):
        client.flush(early=True)
        with client._state.reading() as db:
            (retry_at,) = db.execute("SELECT retry_at FROM outbox").fetchone()
        assert device.clock() <= retry_at <= device.clock() + retry_policy.back_off_span(attempt)


def test_retry_after_is_a_floor_that_even_an_early_flush_keeps(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(nothing(429, **{"Retry-After": "600"}))
    client.flush(early=True)
    device.clock.advance(599)
    assert client.flush(early=True).sent == 0
    device.clock.advance(1)
    assert client.flush(early=True).accepted == 1


def test_retry_after_is_not_obeyed_beyond_six_hours(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(nothing(503, **{"Retry-After": str(365 * DAY)}))
    client.flush(early=True)
    device.clock.advance(6 * 3600 - 1)
    assert client.flush(early=True).sent == 0
    device.clock.advance(1)
    assert client.flush(early=True).accepted == 1


def test_a_late_report_is_not_sent_and_is_dropped_after_a_week(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    shipped = manifest()
    epoch = epoch_at(START, shipped.epoch_seconds)
    device.clock.now = closes_at(epoch, shipped.epoch_seconds, shipped.grace_seconds) + 1.0
    for dropped, days in ((0, 7), (0, 1), (1, 1)):
        result = client.flush(early=True)
        assert (result.sent, result.dropped, result.waiting) == (0, dropped, 1 - dropped)
        device.clock.advance(days * DAY)
    assert device.transport.requests == []


def test_a_report_is_still_sent_in_the_last_second_before_its_epoch_closes(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    shipped = manifest()
    epoch = epoch_at(START, shipped.epoch_seconds)
    device.clock.now = closes_at(epoch, shipped.epoch_seconds, shipped.grace_seconds)
    assert client.flush().accepted == 1


def test_a_clock_that_was_far_ahead_does_not_hold_a_report_back(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(nothing(503, **{"Retry-After": "21600"}))
    device.clock.advance(2 * DAY)
    client.flush(early=True)
    device.clock.advance(-2 * DAY)
    assert client.flush(early=True).accepted == 1


def test_a_flush_without_time_makes_no_request(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    result = client.flush(0.0, early=True)
    assert (result.sent, result.waiting) == (0, 1)
    assert device.transport.requests == []


def test_no_network_for_the_key_list_leaves_the_report_untouched(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)

    answer = device.transport.answer
    device.transport = offline = type(device.transport)()
    client._uploader._timed = partial(TimedTransport, offline, client._calls)
    result = client.flush(early=True)
    assert (result.sent, result.waiting) == (0, 1)
    assert isinstance(result.problems[0], TransportError)
    offline.answer = answer
    assert client.flush(early=True).accepted == 1


@pytest.mark.slow
def test_another_uploader_waits_for_the_lease_of_the_first(device: Device) -> None:
    one, other = device.granted(), device.open()
    one.record("settings", SETTINGS)
    answer = device.transport.answer
    seen: list[FlushResult] = []

    def look_in(request: Request) -> Reply:
        if not seen:
            seen.append(other.flush(early=True))
        return answer(request)

    device.transport.answer = look_in
    assert one.flush(early=True).accepted == 1
    assert seen[0].sent == 0
    assert "another process is uploading" in str(seen[0].problems[0])


def test_the_lease_of_an_uploader_that_died_runs_out(device: Device) -> None:
    dead, heir = device.granted(), device.open()
    dead.record("settings", SETTINGS)
    dead._uploader.release = lambda: None  # type: ignore[method-assign]  # the test replaces it
    device.aggregator.script.append(TransportError("cut"))
    dead.flush(early=True)
    assert heir.flush(early=True).sent == 0
    device.clock.advance(LEASE_SECONDS)
    assert heir.flush(early=True).accepted == 1


def test_a_lease_from_a_clock_far_ahead_holds_nobody_up(device: Device) -> None:
    dead, heir = device.granted(), device.open()
    dead.record("settings", SETTINGS)
    dead._uploader.release = lambda: None  # type: ignore[method-assign]  # the test replaces it
    device.aggregator.script.append(TransportError("cut"))
    device.clock.advance(DAY)
    dead.flush(early=True)
    device.clock.advance(-DAY)
    assert heir.flush(early=True).accepted == 1


def test_a_transport_that_breaks_leaves_the_report_waiting(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(RuntimeError("a mistake in the app's own transport"))
    with pytest.raises(RuntimeError):
        client.flush(early=True)
    assert client.flush(early=True).accepted == 1
    assert len(set(device.payloads)) == 1


def test_a_row_is_marked_on_the_disk_before_its_first_byte_leaves(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    said: list[str] = []
    answer = device.transport.answer

    def look(request: Request) -> Reply:
        if request.method == "POST":
            said.append("POST")
        return answer(request)

    device.transport.answer = look
    with client._state.reading() as db:
        db.set_trace_callback(said.append)
    client.flush(early=True)
    (full,) = (at for at, each in enumerate(said) if each == "PRAGMA synchronous = FULL")
    post = said.index("POST")
    assert full < said.index("COMMIT", full) < post
    assert any("state = 'sending'" in each for each in said[full:post])
    assert said.index("PRAGMA synchronous = NORMAL", full) < post


def test_a_flush_beside_another_thread_s_says_so(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    with client._uploader._run_lock:
        result = client.flush(0.0, early=True)
    assert (result.sent, result.waiting) == (0, 1)
    assert [str(problem) for problem in result.problems] == ["another thread is uploading"]
