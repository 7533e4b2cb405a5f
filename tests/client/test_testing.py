"""The helpers that host applications test with."""

from __future__ import annotations

import pytest

from deniable_client import Client, Outcome, TransportError
from deniable_client.testing import FakeClock, Recorded, RecordingTransport, recorded
from support.builders.client_world import SETTINGS, Device


def test_recorded_catches_what_the_app_answers(device: Device) -> None:
    app = device.open()
    with recorded() as reports:
        app.record("settings", SETTINGS)
    assert reports == [Recorded("settings", SETTINGS, Outcome.QUEUED)]


def test_recorded_leaves_no_trace_and_needs_no_consent(device: Device) -> None:
    app = device.granted()
    with recorded():
        assert app.record("settings", SETTINGS) is Outcome.QUEUED
        assert app.record("settings", SETTINGS) is Outcome.QUEUED
    assert app.budget().spent == 0
    assert app.flush(early=True).waiting == 0


def test_recorded_tells_a_wrong_value_and_a_wrong_name(device: Device) -> None:
    app = device.open()
    with recorded() as reports:
        app.record("settings", "nonsense")
        app.record("setings", SETTINGS)
    outcomes = [report.outcome for report in reports]
    assert outcomes == [Outcome.INVALID_VALUE, Outcome.UNKNOWN_COLLECTION]


def test_recorded_ends_with_its_block_even_after_an_error(device: Device) -> None:
    original = Client.record

    class AppError(Exception):
        pass

    with pytest.raises(AppError), recorded():
        raise AppError
    assert Client.record is original


def test_a_recording_transport_is_offline_until_told_otherwise() -> None:
    transport = RecordingTransport()
    with pytest.raises(TransportError, match="offline"):
        transport.request("GET", "https://telemetry.example.org/v1/keys")
    assert [request.method for request in transport.requests] == ["GET"]


def test_a_fake_clock_moves_only_when_it_is_moved() -> None:
    clock = FakeClock(100.0)
    clock.advance(-50)
    assert (clock(), clock()) == (50.0, 50.0)
