"""What status and health say after a failure, and that they take it back once it is over."""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import count

import pytest

from deniable_client import Ceiling, Client, Outcome, Reply, StorageError, TransportError
from deniable_client.errors import ClientError
from deniable_client.notices import Notices
from deniable_client.testing import Request
from support.builders.client_world import (
    CEILING,
    DAY,
    SETTINGS,
    URL,
    Device,
    MakeDevice,
    Operator,
    manifest,
    refused,
)


def sign_in_page(_request: Request) -> Reply:
    """What a hotel's network answers to everything."""
    return Reply(200, b"<html>", {"Content-Type": "text/html"})


def refuse_writes(client: Client, after: str) -> None:
    """Fill the disk of a state file: each write that fires `after` fails."""
    with client._state.reading() as db:
        db.execute("PRAGMA max_page_count = 1")
        db.execute(
            f"CREATE TEMP TRIGGER grow AFTER {after} BEGIN"  # noqa: S608  (the name in it is ours)
            " UPDATE installation SET log_head = hex(zeroblob(100000)); END"
        )


def test_a_page_of_another_network_is_over_once_reports_arrive(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    device.transport.answer = sign_in_page
    client.flush(early=True)
    [problem] = client.health().problems
    assert "the key list is refused" in problem
    device.transport.answer = device.aggregator
    assert client.flush(early=True).accepted == 1
    assert client.health().ok


def test_a_run_that_fails_for_one_question_ends_the_problems_before_it(
    make_device: MakeDevice,
) -> None:
    device = make_device(manifest(), manifest("other"))
    client = device.granted()
    client.record("settings", SETTINGS)
    device.aggregator.script.append(TransportError("offline"))
    client.flush(early=True)
    assert "offline" in str(client.health().problems)
    client.record("other", SETTINGS)
    device.aggregator.script.append(refused("unavailable"))
    assert client.flush(early=True).accepted == 1
    [problem] = client.health().problems
    assert "unavailable" in problem


def test_a_question_that_is_answered_already_says_nothing_of_a_full_disk(
    make_device: MakeDevice,
) -> None:
    device = make_device(manifest(), manifest("other"))
    with device.granted() as client:
        assert client.record("settings", SETTINGS) is Outcome.QUEUED
    client = device.open()
    client.status()
    refuse_writes(client, "INSERT ON outbox")
    assert client.record("other", SETTINGS) is Outcome.STORAGE_BUSY
    assert client.record("settings", SETTINGS) is Outcome.ALREADY_ANSWERED
    assert not client.status().on
    assert not client.health().ok


def test_a_person_whose_yes_could_not_be_kept_is_asked_again(device: Device) -> None:
    client = device.open()
    assert client.status().may_ask
    refuse_writes(client, "UPDATE ON installation")
    with pytest.raises(StorageError):
        client.consent("granted")
    assert client.status().may_ask


def test_of_two_questions_of_one_name_the_one_that_is_asked_decides(
    make_device: MakeDevice,
) -> None:
    dearer = manifest(epsilon='"2"', valid_from="2027-01-10")
    device = make_device(manifest(), dearer)
    client = device.granted(ceiling=Ceiling("1.5", "4", "8"))
    assert client.record("settings", SETTINGS) is Outcome.OVER_CEILING
    assert [each.reason for each in client.status().silences] == ["over-ceiling"]


def test_a_text_that_names_the_moment_is_logged_once(
    device: Device, caplog: pytest.LogCaptureFixture
) -> None:
    moments = count()

    def failing(_request: Request) -> Reply:
        raise TransportError(f"refused at {next(moments)}")

    client = device.granted()
    client.record("settings", SETTINGS)
    device.transport.answer = failing
    with caplog.at_level(logging.DEBUG, logger="deniable_client"):
        for _ in range(70):
            client.flush(early=True)
        assert len(caplog.records) == 1
        client.record("setings", SETTINGS)
    assert "did you mean 'settings'" in caplog.messages[-1]


def test_a_fork_is_one_for_an_app_that_trusts_a_key_more(device: Device) -> None:
    device.granted().close()
    operator = device.aggregator.operator
    with Client(
        URL,
        trust=[operator.trust, Operator().trust],
        manifests=[operator.sign(manifest(purpose='"Something else"'))],
        state=device.path,
        ceiling=CEILING,
        transport=device.transport,
        clock=device.clock,
        background=False,
    ) as client:
        assert client.record("settings", SETTINGS) is Outcome.LOG_FORKED


def test_a_service_that_is_reached_again_is_no_problem(
    device: Device, logged: Callable[[], list[str]]
) -> None:
    causes = iter(("offline", "certificate verify failed: expired", "offline"))

    def unreachable(request: Request) -> Reply:
        raise TransportError(next(causes))

    device.transport.answer = unreachable
    client = device.granted()
    client.record("settings", SETTINGS)
    for _ in range(3):
        client.flush(early=True)
    assert [each.partition(". ")[0] for each in logged()] == [
        "offline",
        "certificate verify failed: expired",
    ]
    assert client.health().problems == tuple(logged())
    assert not client.health().ok
    device.transport.answer = device.aggregator
    assert client.record("setings", SETTINGS).mistake
    assert client.flush().sent == 0
    assert len(client.health().problems) == 3
    assert client.flush(early=True).accepted == 1
    [mistake] = client.health().problems
    assert "setings" in mistake


def test_a_failure_that_comes_back_is_shown_and_not_logged_again(
    make_device: MakeDevice, logged: Callable[[], list[str]]
) -> None:
    device = make_device(manifest(repeat='"fresh"'))
    client = device.granted()
    for _ in range(2):
        client.record("settings", SETTINGS)
        device.aggregator.script.append(TransportError("offline"))
        assert client.flush(early=True).accepted == 0
        assert len(client.health().problems) == 1
        assert client.flush(early=True).accepted == 1
        assert client.health().ok
        device.clock.advance(DAY)
    assert len(logged()) == 1


def test_a_state_file_that_is_written_again_is_no_problem(device: Device) -> None:
    client = device.granted()
    with client._state.reading() as db:
        db.execute("PRAGMA query_only = ON")
    assert client.record("settings", SETTINGS) is Outcome.STORAGE_BUSY
    [problem] = client.health().problems
    assert "is not usable now" in problem
    with client._state.reading() as db:
        db.execute("PRAGMA query_only = OFF")
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    assert client.health().ok


def test_problems_beyond_the_limit_of_topics_are_kept_out_of_health() -> None:
    notices = Notices()
    for number in range(100):
        notices.note(ClientError(f"odd {'x' * number}"))
    assert len(notices.current) == 64
    notices.end(ClientError)
    notices.note(ClientError("new"))
    assert notices.current == ("new",)
