"""What a client with nothing to do costs: wake-ups an hour, statements a wake-up."""

from __future__ import annotations

import threading
import time

import pytest

from deniable_client._uploading.scheduler import Scheduler
from support.builders.client_world import DAY, SETTINGS, Device, MakeDevice, manifest
from support.tiers import grid

HOUR = 3_600.0
PATIENCE = 120.0


def statements(device: Device) -> list[str]:
    """What one wake-up says to the state file."""
    said: list[str] = []
    client = device.clients[-1]
    with client._state.reading() as db:
        db.set_trace_callback(said.append)
    client.upload_due()
    with client._state.reading() as db:
        db.set_trace_callback(None)
    return said


def test_a_wake_up_with_nothing_to_do_reads_and_writes_nothing(device: Device) -> None:
    device.granted()
    said = statements(device)
    assert len(said) <= 7
    assert not any(each.startswith(("BEGIN", "UPDATE", "INSERT")) for each in said)
    assert device.transport.requests == []


def test_a_wake_up_while_a_report_waits_for_its_moment_costs_no_more(device: Device) -> None:
    device.granted().record("settings", SETTINGS)
    said = statements(device)
    assert len(said) <= 7
    assert not any(each.startswith(("BEGIN", "UPDATE", "INSERT")) for each in said)


def test_each_collection_in_which_everybody_speaks_costs_one_look(make_device: MakeDevice) -> None:
    always = {"presence": '"always"', "default": "[false, false]", "epsilon": '"0.5"'}
    device = make_device(*(manifest(f"q{n}", **always) for n in range(5)))
    device.granted().upload_due()
    said = statements(device)
    assert len(said) <= 7 + 5
    assert not any(each.startswith(("BEGIN", "UPDATE", "INSERT")) for each in said)


def test_an_hour_has_four_wake_ups_or_so() -> None:
    waits: list[float] = []
    stopped = threading.Event()

    def wait(event: threading.Event, seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 400:
            event.set()
            stopped.set()

    scheduler = Scheduler(lambda: None, wait=wait)
    scheduler.ensure()
    assert stopped.wait(PATIENCE)
    scheduler.stop()
    an_hour = HOUR / (sum(waits) / len(waits))
    assert 3.8 < an_hour < 4.2  # the mean of 400 is off by more than 40 s with a chance of 1e-13


def test_a_wake_up_takes_little_time(device: Device) -> None:
    """A guard against accidents, not a measurement: that one is printed by the benchmarks."""
    client = device.granted()
    client.record("settings", SETTINGS)
    times = []
    for _ in range(50):
        started = time.thread_time()
        client.upload_due()
        times.append(time.thread_time() - started)
    assert sorted(times)[25] < 0.005


@pytest.mark.parametrize("days", grid([1, 40, 300], by_default=[1, 40]))
def test_the_cost_does_not_grow_with_the_past(make_device: MakeDevice, days: int) -> None:
    device = make_device(manifest(repeat='"memoized"', epsilon_lifetime='"4"', hold_epochs="30"))
    client = device.granted()
    for _ in range(days):
        client.record("settings", SETTINGS)
        client.flush(early=True)
        device.clock.advance(DAY)
    assert len(statements(device)) <= 7
