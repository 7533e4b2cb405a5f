"""Consent: nothing before it, nothing left after it is withdrawn but a tombstone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from deniable_client import ConfigurationError, Consent, Outcome
from support.builders.client_world import DAY, OTHER, SETTINGS, Device, MakeDevice, manifest


def test_nothing_is_recorded_or_sent_before_the_person_was_asked(device: Device) -> None:
    client = device.open()
    assert client.consent() is Consent.UNKNOWN
    assert client.record("settings", SETTINGS) is Outcome.NO_CONSENT
    client.flush(early=True)
    client.refresh()
    assert device.transport.requests == []


@pytest.mark.parametrize("answer", ["unknown", "yes", "", "GRANTED"])
def test_only_granted_and_denied_are_answers(device: Device, answer: str) -> None:
    with pytest.raises(ConfigurationError, match='must be "granted" or "denied"'):
        device.open().consent(answer)


def test_consent_is_kept_for_the_next_start(device: Device) -> None:
    device.granted().close()
    assert device.open().consent() is Consent.GRANTED


def test_a_denial_wipes_the_queue(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    client.consent("denied")
    client.consent("granted")
    assert client.flush(early=True).waiting == 0
    assert device.aggregator.received == []


def test_a_denial_leaves_no_key_payload_or_report_id(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    client.consent("denied")
    client.close()
    with closing(sqlite3.connect(device.path)) as db:
        assert db.execute("SELECT count(key) FROM course").fetchone() == (0,)
        assert db.execute("SELECT count(payload), count(report_id) FROM outbox").fetchone() == (
            0,
            0,
        )


def test_the_tombstone_keeps_what_was_spent_by_name_and_in_all(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    before = client.budget()
    client.consent("denied")
    assert client.budget() == before
    assert before.collections["settings"].spent == before.spent == 1


def test_a_new_grant_gets_no_new_budget_and_no_second_answer(make_device: MakeDevice) -> None:
    device = make_device(manifest(epsilon_lifetime='"4"'))
    client = device.granted()
    client.record("settings", SETTINGS)
    client.consent("denied")
    client.consent("granted")
    device.clock.advance(7 * DAY)
    assert client.record("settings", OTHER) is Outcome.ALREADY_ANSWERED
    assert client.budget().spent == 1


def test_a_question_not_yet_answered_may_be_answered_after_a_new_grant(device: Device) -> None:
    client = device.granted()
    client.consent("denied")
    client.consent("granted")
    assert client.record("settings", SETTINGS) is Outcome.QUEUED


def test_a_new_grant_brings_a_new_key(device: Device) -> None:
    def key() -> object:
        with closing(sqlite3.connect(device.path)) as db:
            return db.execute("SELECT key FROM course").fetchone()[0]

    client = device.granted()
    first = key()
    client.consent("denied")
    client.consent("granted")
    assert key() not in (None, first)


def test_a_denial_in_one_process_stops_the_other(device: Device) -> None:
    one, other = device.granted(), device.open()
    assert other.consent() is Consent.GRANTED
    one.consent("denied")
    assert other.record("settings", SETTINGS) is Outcome.NO_CONSENT
    assert other.flush(early=True).sent == 0


def test_a_grant_in_one_process_is_seen_by_the_other(device: Device) -> None:
    one, other = device.open(), device.open()
    one.consent("granted")
    assert other.record("settings", SETTINGS) is Outcome.QUEUED


def test_a_denial_during_an_upload_ends_it(make_device: MakeDevice) -> None:
    device = make_device(*(manifest(name, epsilon='"0.5"') for name in "abc"))
    client = device.granted()
    for name in "abc":
        client.record(name, SETTINGS)
    answer = device.transport.answer
    device.transport.answer = lambda request: (client.consent("denied"), answer(request))[1]
    client.flush(early=True)
    assert [request.method for request in device.transport.requests] == ["GET"]


@pytest.mark.slow
def test_a_denial_that_cannot_be_written_holds_in_this_process(
    device: Device, tmp_path: Path
) -> None:
    from deniable_client import StorageError

    client = device.granted()
    with closing(sqlite3.connect(device.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError):
            client.consent("denied")
    assert client.record("settings", SETTINGS) is Outcome.NO_CONSENT
    assert client.flush(early=True).sent == 0


def test_forgetting_deletes_every_file_and_closes(device: Device, tmp_path: Path) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    client.forget()
    assert list(tmp_path.glob("state.db*")) == []
    assert client.record("settings", SETTINGS) is Outcome.CLOSED
