"""The log: moving it needs an extension, and unsigned data cannot stop a device."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from deniable_client import Client, LogForkedError, Outcome, RefusedError, Reply, TransportError
from deniable_client.errors import ClientError
from deniable_shared.wire.transparency_log import LogEntry
from support.builders.client_world import (
    DAY,
    SETTINGS,
    Aggregator,
    Device,
    MakeDevice,
    manifest,
    nothing,
    page_of,
)

NAMES = ["a", "b", "c"]


@pytest.fixture
def follower(make_device: MakeDevice) -> Device:
    """A device that has seen the log at five entries."""
    device = make_device(*map(manifest, NAMES))
    device.aggregator.publish(entries=3)
    client = device.granted()
    client.record("a", SETTINGS)
    assert client.flush(early=True).accepted == 1
    device.transport.requests.clear()
    return device


def renewed(device: Device, name: str = "b") -> tuple[Client, list[ClientError]]:
    """Let the client ask for the keys again."""
    client = device.clients[-1]
    client.record(name, SETTINGS)
    device.aggregator.script.append(0x0B)
    return client, list(client.flush(early=True).problems)


def requested_pages(device: Device) -> list[str]:
    """The log's pages that were asked for."""
    urls = [request.url for request in device.transport.requests]
    return [url.rpartition("/v1/")[2] for url in urls if "/log" in url]


def test_a_log_that_stands_still_is_not_asked_for(follower: Device) -> None:
    renewed(follower)
    assert requested_pages(follower) == []


def test_a_log_that_moved_is_asked_for_from_where_it_was_known(follower: Device) -> None:
    follower.aggregator.rotate(2)
    _, problems = renewed(follower)
    assert problems == []
    assert requested_pages(follower) == ["log?from=5"]


@pytest.mark.slow
def test_many_entries_come_in_pages(follower: Device) -> None:
    follower.aggregator.publish(entries=2_500)
    _, problems = renewed(follower)
    assert problems == []
    assert requested_pages(follower) == ["log?from=5", "log?from=1005", "log?from=2005"]


def test_a_log_that_grew_while_it_was_asked_for_is_no_fork(follower: Device) -> None:
    follower.aggregator.publish()
    key_list = follower.aggregator.key_list
    follower.aggregator.publish(entries=7)
    follower.aggregator.key_list = key_list
    _, problems = renewed(follower)
    assert problems == []
    log = follower.clients[-1].explain().log
    assert log is not None
    assert (log.size, log.head) == (key_list.log_size, key_list.log_head)


def rewrite(aggregator: Aggregator) -> None:
    """Another past, with a future of its own."""
    aggregator.log[2] = LogEntry("release", b"x" * 32)
    aggregator.publish(entries=2)


def reorder(aggregator: Aggregator) -> None:
    """The same entries in another order."""
    aggregator.log.reverse()
    aggregator.publish()


def insert(aggregator: Aggregator) -> None:
    """An entry that was not there."""
    aggregator.log.insert(1, LogEntry("manifest", b"y" * 32))
    aggregator.publish()


@pytest.mark.parametrize("operator_lies", [rewrite, reorder, insert])
def test_a_log_that_does_not_extend_is_a_fork_for_good(
    follower: Device, operator_lies: Callable[[Aggregator], None]
) -> None:
    operator_lies(follower.aggregator)
    client, problems = renewed(follower)
    assert isinstance(problems[0], LogForkedError)
    client.close()
    client = follower.open()
    assert client.record("c", SETTINGS) is Outcome.LOG_FORKED
    assert client.explain().forked == str(problems[0])


def pages(document: object) -> Callable[[int], Reply]:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return lambda first: Reply(200, body, {})


HEX = "00" * 32
UNSIGNED: Mapping[str, Callable[[int], Reply]] = {
    "nothing": pages(b""),
    "a sign-in page": pages(b"<html>"),
    "no such thing": lambda first: nothing(404),
    "an error": lambda first: nothing(503),
    "no entries": pages({"size": 7, "head": HEX, "entries": []}),
    "a shorter log": pages({"size": 6, "head": HEX, "entries": [["keys", HEX]]}),
    "too many entries": pages({"size": 9999, "head": HEX, "entries": [["keys", HEX]] * 1001}),
    "a size of words": pages({"size": "7", "head": HEX, "entries": []}),
    "entries of one part": pages({"size": 7, "head": HEX, "entries": [["keys"]]}),
    "a surprise": pages({"size": 7, "head": HEX, "entries": [], "more": 1}),
    "deep nesting": pages(b"[" * 100_000),
}


@pytest.mark.parametrize("answer", UNSIGNED)
def test_what_is_no_log_is_refused_and_stops_nobody_for_good(follower: Device, answer: str) -> None:
    follower.aggregator.pages = UNSIGNED[answer]
    follower.aggregator.rotate(2)
    client, problems = renewed(follower)
    assert isinstance(problems[0], RefusedError | TransportError)
    assert client.flush().waiting == 1
    follower.aggregator.pages = None
    follower.clock.advance(DAY)
    follower.aggregator.script.append(0x0B)
    assert client.flush(early=True).accepted == 1


@pytest.mark.slow
def test_an_operator_whose_log_never_ends_is_left_alone(
    follower: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable_client._uploading.transparency_log._MOST_PAGES", 3)
    follower.aggregator.publish(entries=5_000)
    _, problems = renewed(follower)
    assert "more than 3 pages" in str(problems[0])
    assert len(requested_pages(follower)) == 3


def test_a_replica_that_lags_is_refused_and_is_no_fork(follower: Device) -> None:
    old = follower.aggregator.key_list
    follower.aggregator.publish()
    renewed(follower)
    follower.aggregator.key_list = old
    client, problems = renewed(follower, "c")
    assert "fell from version 3 to 2: a replica lags" in str(problems[0])
    assert client.explain().forked is None
    follower.clock.advance(DAY)
    assert client.flush(early=True).accepted == 1


def test_two_devices_that_are_shown_two_logs_can_tell_by_their_heads(
    make_device: MakeDevice, follower: Device
) -> None:
    other = make_device(*map(manifest, NAMES), path=":memory:", aggregator=follower.aggregator)
    rewrite(follower.aggregator)
    client = other.granted()
    client.record("a", SETTINGS)
    client.flush(early=True)
    heads = {each.clients[-1].explain().log for each in (follower, other)}
    assert len(heads) == 2


def test_pages_come_in_the_form_of_the_protocol(follower: Device) -> None:
    document = json.loads(page_of(follower.aggregator.log, 3))
    assert document["size"] == 5
    assert len(document["entries"]) == 2
