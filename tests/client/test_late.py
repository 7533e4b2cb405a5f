"""A device whose clock jumped loses nothing; a report that is late by two clocks is dropped."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from deniable_client import Client, Outcome, Reply
from deniable_client.testing import Request
from deniable_shared.wire.problems import ReportError
from support.builders.client_world import (
    DAY,
    SETTINGS,
    START,
    Device,
    MakeDevice,
    manifest,
    refused,
)

LATE = START + 10 * DAY
"""When the reports of START's epoch are late."""


@pytest.fixture
def three(make_device: MakeDevice) -> Device:
    """A device with three collections, of which c is asked every day."""
    often = manifest("c", repeat='"fresh"', epsilon='"0.01"', epsilon_lifetime='"4"')
    return make_device(*(manifest(name, epsilon='"0.5"') for name in "ab"), often)


def two_waiting(device: Device) -> Client:
    """A client with a report in each of the first two collections."""
    client = device.granted()
    assert {client.record(name, SETTINGS) for name in "ab"} == {Outcome.QUEUED}
    return client


def dated(device: Device, moment: float) -> None:
    """Every reply says that it is this moment."""
    answer = device.transport.answer

    def with_date(request: Request) -> Reply:
        reply = answer(request)
        return Reply(
            reply.status, reply.body, {**reply.headers, "Date": formatdate(moment, usegmt=True)}
        )

    device.transport.answer = with_date


def exchange(device: Device, client: Client) -> None:
    """Send one more report, which the aggregator answers: too early."""
    assert client.record("c", SETTINGS) is Outcome.QUEUED
    device.aggregator.script.append(ReportError.TOO_EARLY)
    result = client.flush(early=True)
    assert (result.sent, result.dropped) == (1, 0)


def test_a_clock_200_days_ahead_and_back_again_loses_no_report(three: Device) -> None:
    client = two_waiting(three)
    three.clock.advance(200 * DAY)
    assert client.flush(early=True).waiting == client.upload_due().waiting == 2
    client.close()
    three.open().upload_due()
    three.clock.advance(-200 * DAY)
    result = three.open().flush(early=True)
    assert (result.accepted, result.dropped, result.waiting) == (2, 0, 0)


def test_two_jumps_with_right_time_between_lose_no_report(three: Device) -> None:
    client = two_waiting(three)
    for days in (200, 300):
        three.clock.advance(days * DAY)
        assert client.flush().waiting == 2
        three.clock.advance(-days * DAY)
        assert client.flush(timeout=0.0).waiting == 2
    assert client.flush(early=True).accepted == 2


def test_a_report_late_by_both_clocks_is_dropped_at_the_next_exchange(three: Device) -> None:
    client = two_waiting(three)
    three.clock.now = LATE
    client.record("c", SETTINGS)
    result = client.flush(early=True)
    assert (result.accepted, result.dropped, result.waiting) == (1, 2, 0)
    [problem] = result.problems
    assert "2 reports were not sent before their period closed" in str(problem)


def test_each_reply_that_shows_the_epoch_open_postpones_the_drop(three: Device) -> None:
    client = two_waiting(three)
    dated(three, START)
    for _ in range(10):
        three.clock.advance(6 * DAY)
        exchange(three, client)
    three.clock.now = START
    client.flush(early=True)
    received = {each.collection for each in three.aggregator.received}
    assert {manifest(name, epsilon='"0.5"').collection for name in "ab"} <= received


def test_without_such_a_reply_the_drop_comes_after_a_week_and_is_logged(
    three: Device, caplog: pytest.LogCaptureFixture
) -> None:
    client = two_waiting(three)
    three.clock.advance(6 * DAY)
    assert client.flush().dropped == 0
    three.clock.advance(8 * DAY)
    with caplog.at_level("WARNING"):
        assert client.flush().dropped == 2
    assert "epoch-closed: 2 reports were not sent before their period closed" in caplog.text


@pytest.mark.parametrize("stranger", [Reply(503, b"", {}), Reply(200, b"<html>", {})])
def test_the_date_of_a_stranger_drops_nothing(three: Device, stranger: Reply) -> None:
    client = two_waiting(three)
    dated(three, START + 300 * DAY)
    three.clock.now = LATE
    client.record("c", SETTINGS)
    three.aggregator.script.append(stranger)
    result = client.flush(early=True)
    assert (result.sent, result.dropped, result.waiting) == (1, 0, 3)


def test_the_date_of_a_refusal_counts_too(three: Device) -> None:
    client = two_waiting(three)
    dated(three, LATE)
    three.clock.now = LATE
    client.record("c", SETTINGS)
    three.aggregator.script.append(refused("unavailable"))
    result = client.flush(early=True)
    assert (result.sent, result.dropped, result.waiting) == (1, 2, 1)


def test_a_date_drops_no_report_that_is_in_time_by_this_clock(three: Device) -> None:
    client = two_waiting(three)
    dated(three, START + 300 * DAY)
    three.aggregator.script.append(refused("unavailable"))
    result = client.flush(early=True)
    assert (result.dropped, result.waiting) == (0, 1)
