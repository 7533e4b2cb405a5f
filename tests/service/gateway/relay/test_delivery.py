"""A service that is busy, silent or refuses: nothing is lost and no report joins a batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_gateway.relay import forwarder
from deniable_gateway.relay.asgi import MIRROR_SECONDS
from deniable_gateway.relay.queue import NAME
from deniable_shared.wire.report import Report
from support.builders import api_world, relay_world
from support.builders.relay_reports import YES, sent
from support.builders.relay_world import BATCH, RelayWorld

RELAYED: dict[str, Any] = {"relay_batch": 1_000}
BUSY = ("503 Service Unavailable", [("Retry-After", "120")])


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
def test_a_busy_service_is_left_alone_for_as_long_as_it_asks(
    relay: RelayWorld, collection: Collection, status: str
) -> None:
    relay.wiretap.outage = (status, [("Retry-After", "120")])
    sent(relay, collection, BATCH)
    relay.tick()
    relay.tick(119)
    assert len(relay.wiretap.posts) == 1
    relay.wiretap.outage = None
    relay.tick(121)
    assert relay.n(collection.id) == BATCH
    assert relay.running.queue.counts()["forwarded"] == BATCH


@pytest.mark.slow
def test_waits_grow_while_nothing_answers(relay: RelayWorld, collection: Collection) -> None:
    relay.wiretap.outage = ("500 Internal Server Error", [])
    sent(relay, collection, BATCH)
    for _ in range(600):
        relay.tick(1)
    assert 5 <= len(relay.wiretap.posts) <= 8  # waits of 5…10 s, then 10…20, 20…40 and so on


@pytest.mark.slow
def test_a_batch_that_is_sent_in_part_is_finished_without_newcomers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwarder, "MAX_REPORTS", 10)
    with relay_world.opened(tmp_path, batch=11) as relay:
        found = relay.aggregator.register(api_world.authored())
        relay.renew()
        sent(relay, found, 13)
        relay.wiretap.outage, relay.wiretap.let_through = BUSY, 1
        relay.tick()
        sent(relay, found, 2)
        relay.wiretap.outage = None
        relay.restart()
        relay.renew()
        assert [len(post.reports) for post in relay.wiretap.posts] == [10, 3, 3]
        assert (relay.n(found.id), relay.running.queue.waiting()) == (13, 2)


def test_a_token_that_is_refused_loses_nothing(relay: RelayWorld, collection: Collection) -> None:
    token = Path(relay.options.token_file)
    valid = token.read_text()
    token.write_text(relay.aggregator.tokens["viewer"])
    sent(relay, collection, BATCH)
    relay.tick()
    assert (relay.running.queue.waiting(), relay.n(collection.id)) == (BATCH, 0)
    token.write_text(valid)
    relay.tick(1_000)
    assert (relay.running.queue.waiting(), relay.n(collection.id)) == (0, BATCH)


def test_what_does_not_open_is_counted_with_the_services_reason(
    relay: RelayWorld, collection: Collection
) -> None:
    sent(relay, collection, BATCH - 1)
    forged = relay.aggregator.report(collection, YES)
    forged = Report(forged.header, bytes(len(forged.sealed)))
    assert relay.upload(collection.id, forged).codes == []
    relay.tick()
    assert relay.running.queue.counts() == {
        "accepted": BATCH,
        "forwarded": BATCH - 1,
        "refused: cannot-open": 1,
    }


@pytest.mark.slow
def test_reports_of_a_collection_that_was_closed_meanwhile_are_let_go(
    relay: RelayWorld, collection: Collection
) -> None:
    sent(relay, collection, BATCH)
    relay.aggregator.running.registry.close(collection.id, audit=None)
    relay.tick()
    assert relay.running.queue.counts()["refused: collection-closed"] == BATCH
    assert relay.running.queue.waiting() == 0


def test_only_the_owner_reads_the_file_and_sent_reports_are_deleted(
    relay: RelayWorld, collection: Collection
) -> None:
    path = relay.options.directory / NAME
    reports = sent(relay, collection, BATCH)
    assert path.stat().st_mode & 0o777 == 0o600
    wal = Path(f"{path}-wal")
    assert all(each.sealed in path.read_bytes() + wal.read_bytes() for each in reports)
    relay.tick()
    relay.restart()
    assert not any(each.sealed in path.read_bytes() for each in reports)
    assert not wal.exists() or not any(each.sealed in wal.read_bytes() for each in reports)


@pytest.mark.slow
def test_a_second_relay_on_the_directory_is_refused(relay: RelayWorld) -> None:
    from deniable_gateway.errors import LockedError
    from deniable_gateway.relay.asgi import Relay

    with pytest.raises(LockedError):
        Relay(relay.options, clock=relay.clock)


@pytest.mark.slow
def test_an_aggregator_that_cannot_be_read_leaves_the_copy_as_it_was(
    relay: RelayWorld, collection: Collection
) -> None:
    before = relay.get("/v1/keys").body
    relay.running._upstream.get = lambda path: b"no JSON"  # type: ignore[method-assign]  # the test replaces it
    relay.tick(MIRROR_SECONDS)
    assert relay.get("/v1/keys").body == before
