"""The helpers that host applications test with."""

from __future__ import annotations

from typing import Any

import pytest

from deniable_client import Client, ConfigurationError, Outcome, TransportError
from deniable_client.pytest_plugin import telemetry
from deniable_client.testing import (
    ClientForTests,
    FakeClock,
    Recorded,
    RecordingTransport,
    client,
    recorded,
)
from deniable_shared.manifest.app_file import AppFile
from support.builders.client_world import DAY, SETTINGS, START, URL, Device, Operator, manifest

__all__ = ["telemetry"]


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


def test_an_app_is_tested_without_a_file() -> None:
    with client() as app:
        assert app.record("settings", SETTINGS) is Outcome.QUEUED
        assert app.record("settings", SETTINGS) is Outcome.ALREADY_ANSWERED
        assert app.record("theme", "dark") is Outcome.QUEUED
        app.consent("denied")
        assert app.record("sound", True) is Outcome.NO_CONSENT
    outcomes = [(each.collection, each.outcome.value) for each in app.answers]
    assert outcomes == [
        ("settings", "queued"),
        ("settings", "already-answered"),
        ("theme", "queued"),
        ("sound", "no-consent"),
    ]


def test_without_a_file_no_question_is_missing() -> None:
    with client(consent="unknown") as app:
        assert app.status().may_ask
        app.consent("granted")
        assert app.status().on
        assert app.health().status == app.status()
        assert app.health().ok
        app.consent("denied")
        assert str(app.status()) == "Telemetry is off: you said no."


def test_without_a_file_nothing_is_wrong_with_an_answer() -> None:
    with client() as app:
        assert app.preview("settings", SETTINGS) is Outcome.QUEUED
        app.record("settings", SETTINGS)
        assert app.preview("settings", SETTINGS) is Outcome.QUEUED


def test_without_a_file_a_refused_call_is_no_answer() -> None:
    with client(consent="unknown") as app:
        assert app.record("settings", SETTINGS) is Outcome.NO_CONSENT
        app.consent("granted")
        assert app.record("settings", SETTINGS) is Outcome.QUEUED


def test_without_a_file_each_day_takes_one_answer() -> None:
    clock = FakeClock(START)
    with client(clock=clock) as app:
        outcomes = []
        for days in (0, 0, 1, 0, -1):
            clock.advance(days * DAY)
            outcomes.append(app.record("settings", SETTINGS).value)
    assert outcomes == ["queued", "already-answered", "queued", *["already-answered"] * 2]


def test_with_a_file_a_missing_question_is_a_reason(operator: Operator) -> None:
    shipped = AppFile((URL,), (operator.trust,), (operator.sign(manifest()),)).encode()
    with client(shipped, clock=FakeClock(START + 3 * 365 * DAY)) as app:
        assert [each.reason for each in app.status().silences] == ["no-questions"]
        assert app.preview("settings", SETTINGS) is Outcome.EXPIRED


def test_an_app_is_tested_against_what_it_ships(operator: Operator) -> None:
    shipped = AppFile((URL,), (operator.trust,), (operator.sign(manifest()),)).encode()
    with client(shipped, clock=FakeClock(START)) as app:
        assert app.record("settings", SETTINGS) is Outcome.QUEUED
        assert app.record("settings", SETTINGS) is Outcome.ALREADY_ANSWERED
        assert app.record("settings", {"dark": True}) is Outcome.INVALID_VALUE
        assert app.record("setings", SETTINGS) is Outcome.UNKNOWN_COLLECTION
    with pytest.raises(ConfigurationError, match="app file"):
        client(b"{}")


def test_a_test_on_a_build_server_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with client() as app:
        assert app.record("settings", SETTINGS) is Outcome.QUEUED
    with client(consent="unknown") as app:
        assert app.record("settings", SETTINGS) is Outcome.NO_CONSENT


def test_the_fixture_is_a_client_of_someone_who_agreed(telemetry: ClientForTests) -> None:
    assert telemetry.status().on
    telemetry.record("settings", SETTINGS)
    assert telemetry.answers[0].outcome is Outcome.QUEUED


def test_swapped_arguments_are_told_without_a_file_too() -> None:
    swapped: Any = SETTINGS
    with client() as app:
        assert app.preview(swapped, "settings") is Outcome.UNKNOWN_COLLECTION
        assert app.record(swapped, "settings") is Outcome.UNKNOWN_COLLECTION
