"""Key lists: verified, never older, and one log for all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from deniable_client import LogForkedError, Outcome, RefusedError, Reply
from deniable_client._state import installation, outbox
from support.builders.client_world import (
    DAY,
    SETTINGS,
    START,
    Aggregator,
    Device,
    MakeDevice,
    Operator,
    manifest,
    page_of,
)

PAIR = (manifest("a"), manifest("b"), manifest("c"))


@pytest.fixture
def pair(make_device: MakeDevice) -> Device:
    """A device that has uploaded once under list version 3 of a log of 6 entries."""
    device = make_device(*PAIR)
    device.aggregator.publish()
    device.aggregator.publish(entries=3)
    client = device.granted()
    client.record("a", SETTINGS)
    assert client.flush(early=True).accepted == 1
    client.close()
    return device


def test_the_key_list_is_fetched_once_and_remembered_over_starts(pair: Device) -> None:
    client = pair.open()
    client.record("b", SETTINGS)
    assert client.flush(early=True).accepted == 1
    gets = [request for request in pair.transport.requests if request.method == "GET"]
    assert len(gets) == 1


def test_a_key_list_that_is_over_is_fetched_again(make_device: MakeDevice) -> None:
    device = make_device(*PAIR)
    device.aggregator.key_list = replace(
        device.aggregator.key_list, expires=int(device.clock()) + DAY
    )
    client = device.granted()
    client.record("a", SETTINGS)
    client.flush(early=True)
    client.record("b", SETTINGS)
    device.clock.advance(DAY)
    device.aggregator.publish(days=1)
    assert client.flush(early=True).accepted == 1
    assert len([r for r in device.transport.requests if r.url.endswith("/keys")]) == 2


Change = Callable[[Aggregator], None]


def with_fields(**fields: object) -> Change:
    """An aggregator that signs another list than an honest one would."""

    def change(aggregator: Aggregator) -> None:
        aggregator.key_list = replace(aggregator.key_list, **fields)  # type: ignore[arg-type]  # one dict has values of many types

    return change


FORKS: dict[str, Change] = {
    "could not have come before": with_fields(version=2, log_size=9),
    "log shrank": with_fields(version=4, log_size=5),
    "ends in two different ways": with_fields(version=4, log_head="cd" * 32),
    "two different bodies": with_fields(expires=int(START) + 999 * DAY),
    "must have at least": with_fields(version=4),
    "before": with_fields(version=4, log_size=7, issued=1),
}


def renewed(device: Device, change: Change) -> LogForkedError | None:
    """Let the client ask for the key list again after the operator changed it."""
    change(device.aggregator)
    client = device.open()
    client.record("b", SETTINGS)
    device.aggregator.script.append(0x0B)
    problems = client.flush(early=True).problems
    return next((each for each in problems if isinstance(each, LogForkedError)), None)


@pytest.mark.parametrize("reason", FORKS)
def test_a_log_that_contradicts_itself_stops_recording_and_uploading(
    pair: Device, reason: str
) -> None:
    problem = renewed(pair, FORKS[reason])
    assert problem is not None
    assert reason in str(problem)
    client = pair.open()
    requests = len(pair.transport.requests)
    assert client.record("c", SETTINGS) is Outcome.LOG_FORKED
    assert isinstance(client.flush(early=True).problems[0], LogForkedError)
    assert len(pair.transport.requests) == requests


def test_a_fork_is_not_forgotten_by_a_new_consent(pair: Device) -> None:
    renewed(pair, FORKS["log shrank"])
    client = pair.open()
    client.consent("denied")
    client.consent("granted")
    assert client.record("c", SETTINGS) is Outcome.LOG_FORKED


def test_a_fork_seen_by_one_process_stops_the_other(pair: Device) -> None:
    other = pair.open()
    other.record("b", SETTINGS)
    pair.aggregator.key_list = replace(pair.aggregator.key_list, log_size=1)
    pair.aggregator.script.append(0x0B)
    pair.open().flush(early=True)
    assert other.record("c", SETTINGS) is Outcome.LOG_FORKED
    assert other.flush(early=True).sent == 0


def test_no_row_is_marked_for_sending_once_the_log_forked(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    with client._state.transaction() as db:
        (row,) = outbox.waiting_rows(db)
        installation.declare_fork(db, "two logs")
        report = outbox.read_report(db, row.collection, row.epoch)
        assert report is not None
        assert outbox.mark_sending(db, report, b"a request") is None


EXTENSIONS: dict[str, Change] = {
    "the same list": lambda aggregator: None,
    "a newer list": lambda aggregator: aggregator.publish(),
    "a much longer log": lambda aggregator: aggregator.publish(entries=2_500),
    "a rotation": lambda aggregator: aggregator.rotate(2),
}


@pytest.mark.parametrize("change", EXTENSIONS)
def test_an_honest_operator_is_never_suspected(pair: Device, change: str) -> None:
    assert renewed(pair, EXTENSIONS[change]) is None


def test_a_key_list_by_a_stranger_is_refused(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.operator = replace(device.aggregator.operator, seed=Operator().seed)
    result = client.flush(early=True)
    assert (result.sent, result.waiting) == (0, 1)
    assert isinstance(result.problems[0], RefusedError)


def test_an_expired_key_list_is_refused_and_no_fork(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.key_list = replace(
        device.aggregator.key_list, expires=int(device.clock()), issued=1
    )
    (problem,) = client.flush(early=True).problems
    assert isinstance(problem, RefusedError)
    assert "expired" in str(problem)


def test_a_list_without_an_active_key_is_refused(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    (key,) = device.aggregator.key_list.keys
    pending = (replace(key, state="pending"),)
    device.aggregator.key_list = replace(device.aggregator.key_list, keys=pending)
    assert isinstance(client.flush(early=True).problems[0], RefusedError)


def test_a_key_nothing_can_be_sealed_to_keeps_the_report(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    (key,) = device.aggregator.key_list.keys
    low_order = (replace(key, public_key=bytes(32)),)
    device.aggregator.key_list = replace(device.aggregator.key_list, keys=low_order)
    result = client.flush(early=True)
    assert (result.accepted, result.waiting) == (0, 1)


def test_the_first_list_ever_seen_is_taken_whatever_its_log(device: Device) -> None:
    device.aggregator.key_list = replace(
        device.aggregator.key_list, version=900, log_size=0, log_head="ab" * 32
    )
    client = device.granted()
    client.record("settings", SETTINGS)
    assert client.flush(early=True).accepted == 1


def test_a_list_that_another_process_overtook_is_not_stored(pair: Device) -> None:
    client = pair.open()
    client.record("b", SETTINGS)
    pair.aggregator.publish()
    pair.aggregator.script.append(0x0B)

    def overtaken(first: int) -> Reply:
        with client._state.transaction() as db:
            db.execute("UPDATE installation SET keys_version = 7")
        return Reply(200, page_of(pair.aggregator.log, first), {})

    pair.aggregator.pages = overtaken
    result = client.flush(early=True)
    assert (result.accepted, result.waiting) == (0, 1)
    assert "another process has stored a newer key list" in str(result.problems[0])


def under_a_new_operator_key(pair: Device) -> Device:
    """The next release of the app: its operator lost the old key."""
    for client in pair.clients:
        client.close()
    old = pair.aggregator.operator
    pair.aggregator.operator = Operator(private=old.private)
    pair.granted()
    return pair


def test_a_list_that_the_app_no_longer_trusts_is_fetched_again(pair: Device) -> None:
    client = under_a_new_operator_key(pair).clients[-1]
    client.record("b", SETTINGS)
    assert client.flush(early=True).accepted == 1


def test_an_older_list_is_refused_though_the_newer_cannot_be_read(pair: Device) -> None:
    old = pair.aggregator.key_list
    pair.aggregator.publish()
    assert renewed(pair, lambda aggregator: None) is None
    pair.aggregator.key_list = old
    client = under_a_new_operator_key(pair).clients[-1]
    client.record("c", SETTINGS)
    [problem] = client.flush(early=True).problems
    assert "fell from version 4 to 3" in str(problem)
