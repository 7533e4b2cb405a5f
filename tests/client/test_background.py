"""The background thread: lazy, daemonic, and always silent."""

from __future__ import annotations

import threading

import pytest

from deniable_client import Client, Reply
from deniable_client._uploading.scheduler import Scheduler
from deniable_client.testing import Request
from support.builders.client_world import DAY, SETTINGS, Device

PATIENCE = 120.0


def uploaders() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "deniable-upload"]


def watch(device: Device) -> threading.Event:
    """Set once the aggregator was asked for anything."""
    answer, requested = device.transport.answer, threading.Event()

    def note(request: Request) -> Reply:
        reply = answer(request)
        requested.set()
        return reply

    device.transport.answer = note
    return requested


def restarted_when_due(device: Device) -> Client:
    """The next start, after the moment of a report of the first."""
    client = device.granted()
    client.record("settings", SETTINGS)
    client.close()
    device.clock.advance(1.5 * DAY)
    return device.open(background=True)


def test_no_thread_before_there_is_something_to_send(device: Device) -> None:
    client = device.open(background=True)
    client.consent("granted")
    assert uploaders() == []
    client.record("settings", SETTINGS)
    assert len(uploaders()) == 1
    client.close()
    assert uploaders() == []


def test_what_was_left_is_sent_at_the_next_start(device: Device) -> None:
    requested = watch(device)
    client = restarted_when_due(device)
    assert requested.wait(PATIENCE)
    client.close()
    assert len(device.payloads) == 1


def test_a_transport_that_breaks_is_told_and_does_not_end_the_thread(device: Device) -> None:
    requested = threading.Event()

    def broken(request: Request) -> Reply:
        requested.set()
        raise RuntimeError("the app's own mistake")

    device.transport.answer = broken
    client = restarted_when_due(device)
    assert requested.wait(PATIENCE)
    deadline = threading.Event()
    while not client._notices.problems and not deadline.wait(0.005):
        pass
    assert uploaders() != []
    assert "RuntimeError" in str(client._notices.problems[0])
    client.close()


def test_what_goes_wrong_on_the_thread_waits_for_the_next_flush(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.clock.advance(1.5 * DAY)
    device.transport.answer = lambda request: Reply(502, b"", {})
    client._wake_up()
    client.consent("denied")  # the flush itself sends nothing
    [problem] = client.flush().problems
    assert "the answer was 502" in str(problem)


def test_closing_during_an_upload_does_not_wait_for_the_network(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable_client._uploading.scheduler._PATIENCE_SECONDS", 0.01)
    inside, go = threading.Event(), threading.Event()
    answer = device.transport.answer

    def slow(request: Request) -> Reply:
        inside.set()
        go.wait(PATIENCE)
        return answer(request)

    device.transport.answer = slow
    client = restarted_when_due(device)
    assert inside.wait(PATIENCE)
    (thread,) = uploaders()
    client.close()
    go.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert device.open().flush(early=True).accepted == 1


def test_wake_ups_come_at_once_and_then_every_quarter_of_an_hour_or_so() -> None:
    waits: list[float] = []
    stopped = threading.Event()

    def wait(event: threading.Event, seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 50:
            event.set()
            stopped.set()

    calls: list[int] = []
    scheduler = Scheduler(lambda: calls.append(len(waits)), wait=wait)
    scheduler.ensure()
    assert stopped.wait(PATIENCE)
    scheduler.stop()
    assert calls == list(range(50))
    assert all(720 <= wait <= 1080 for wait in waits)
    assert len(set(waits)) > 5


def test_a_thread_that_runs_is_not_started_again() -> None:
    scheduler = Scheduler(lambda: None, wait=lambda stop, seconds: stop.wait(PATIENCE))
    for _ in range(3):
        scheduler.ensure()
    assert len(uploaders()) == 1
    scheduler.stop()
    assert uploaders() == []


def test_no_more_threads_is_not_the_app_s_problem(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    client = device.open(background=True)
    client.consent("granted")
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert client.record("settings", SETTINGS) == "queued"
    assert "thread" in str(client.flush().problems[0])
