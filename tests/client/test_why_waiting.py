"""`flush()` says why a report waits, and until when."""

from __future__ import annotations

import pytest

from deniable_client import FlushResult, Reply
from deniable_client.testing import offline
from support.builders.client_world import DAY, SETTINGS, Device, MakeDevice, manifest, refused


def waiting(device: Device) -> FlushResult:
    """A flush that leaves the report where it is."""
    client = device.granted()
    client.record("settings", SETTINGS)
    return client.flush()


def test_an_empty_queue_needs_no_reason(device: Device) -> None:
    result = device.granted().flush()
    assert (result.waiting, result.next_due, result.why) == (0, None, "")


def test_the_moment_is_drawn_and_known(device: Device) -> None:
    result = waiting(device)
    assert result.next_due is not None
    assert device.clock() < result.next_due < device.clock() + 3 * DAY
    assert "1 report waits, the next one until 2027-01-" in result.why
    assert "flush(early=True) sends it now" in result.why
    device.clock.now = result.next_due
    assert device.clients[-1].flush().accepted == 1


def test_several_are_counted(make_device: MakeDevice) -> None:
    device = make_device(manifest("a"), manifest("b"))
    client = device.granted()
    client.record("a", SETTINGS)
    client.record("b", SETTINGS)
    assert client.flush().why.startswith("2 reports wait, the next one until")


def test_a_service_that_asks_for_patience_is_the_reason(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(refused("unavailable", **{"Retry-After": "7200"}))
    result = client.flush(early=True)
    assert "the service wants it to come later" in result.why
    assert result.next_due is not None
    assert result.next_due >= device.clock() + 7200


def test_one_that_may_leave_now_says_so(device: Device) -> None:
    result = waiting(device)
    assert result.next_due is not None
    device.clock.now = result.next_due
    result = device.clients[-1].flush(timeout=0)
    assert (result.waiting, result.next_due) == (1, device.clock())
    assert result.why == "1 report waits: the next attempt may be made now"


def test_one_whose_day_is_over_waits_a_week(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.clock.advance(5 * DAY)
    result = client.flush()
    assert (result.waiting, result.next_due) == (1, None)
    assert "too late to send" in result.why


@pytest.mark.parametrize(
    ("setting", "reason"),
    [("DO_NOT_TRACK", "DO_NOT_TRACK is set"), ("DENIABLE_DISABLE", "DENIABLE_DISABLE is set")],
)
def test_a_pause_is_the_reason(
    device: Device, monkeypatch: pytest.MonkeyPatch, setting: str, reason: str
) -> None:
    waiting(device)
    monkeypatch.setenv(setting, "1")
    assert device.clients[-1].flush().why == f"1 report waits: {reason}"


def test_a_service_that_refuses_this_version_is_the_reason(make_device: MakeDevice) -> None:
    device = make_device(manifest("a"), manifest("b"))
    client = device.granted()
    client.record("a", SETTINGS)
    client.record("b", SETTINGS)
    device.aggregator.script.append(refused("invalid-message"))
    result = client.flush(early=True)
    assert result.why == "1 report waits: the service refuses the messages of this version"


def test_a_back_off_is_the_reason(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    due = client.flush().next_due
    assert due is not None
    device.clock.now = due
    device.aggregator.script.append(Reply(502, b"", {}))
    assert "the last attempt failed" in client.flush().why


def test_keys_that_could_not_be_fetched_are_a_failed_attempt(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    assert "the time is random" in client.health().why
    device.transport.answer = offline
    assert "the last attempt failed" in client.flush(early=True).why
    due = client.health().next_due
    assert due is not None
    assert "the last attempt failed" in client.health().why
    device.clock.now = due
    assert client.health().why == (
        "1 report waits: the last attempt failed, and the next attempt may be made now"
    )
    device.transport.answer = device.aggregator
    assert client.flush().accepted == 1
    assert client.health().why == ""
