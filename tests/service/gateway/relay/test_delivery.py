"""A service that is busy, silent or refuses: nothing is lost and nobody joins a batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_gateway.relay.queue import NAME
from deniable_gateway.relay.wsgi import MIRROR_SECONDS
from deniable_shared.wire.report import Report
from support.builders import api_world, relay_world
from support.builders.relay_reports import YES, sent
from support.builders.relay_world import BATCH, RelayWorld

RELAYED: dict[str, Any] = {"relay_batch": 1_000}
BUSY = ("503 Service Unavailable", [("Retry-After", "120")])


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
def test_a_busy_service_is_left_alone_for_as_long_as_it_asks(
    world: RelayWorld, settings: Collection, status: str
) -> None:
    world.wiretap.outage = (status, [("Retry-After", "120")])
    sent(world, settings, BATCH)
    world.tick()
    world.tick(119)
    assert len(world.wiretap.posts) == 1
    world.wiretap.outage = None
    world.tick(121)
    assert world.n(settings.id) == BATCH
    assert world.relay.queue.counts()["forwarded"] == BATCH


def test_waits_grow_while_nothing_answers(world: RelayWorld, settings: Collection) -> None:
    world.wiretap.outage = ("500 Internal Server Error", [])
    sent(world, settings, BATCH)
    for _ in range(600):
        world.tick(1)
    assert 5 <= len(world.wiretap.posts) <= 8  # waits of 5…10 s, then 10…20, 20…40 and so on


def test_a_batch_that_is_sent_in_part_is_finished_without_newcomers(tmp_path: Path) -> None:
    with relay_world.opened(tmp_path, batch=1_001) as world:
        found = world.aggregator.register(api_world.authored())
        world.renew()
        sent(world, found, 1_003)
        world.wiretap.outage, world.wiretap.let_through = BUSY, 1
        world.tick()
        sent(world, found, 2)
        world.wiretap.outage = None
        world.restart()
        world.renew()
        assert [len(post.reports) for post in world.wiretap.posts] == [1_000, 3, 3]
        assert (world.n(found.id), world.relay.queue.waiting()) == (1_003, 2)


def test_a_token_that_is_refused_loses_nothing(world: RelayWorld, settings: Collection) -> None:
    token = Path(world.options.token_file)
    valid = token.read_text()
    token.write_text(world.aggregator.tokens["viewer"])
    sent(world, settings, BATCH)
    world.tick()
    assert (world.relay.queue.waiting(), world.n(settings.id)) == (BATCH, 0)
    token.write_text(valid)
    world.tick(1_000)
    assert (world.relay.queue.waiting(), world.n(settings.id)) == (0, BATCH)


def test_what_does_not_open_is_counted_with_the_services_reason(
    world: RelayWorld, settings: Collection
) -> None:
    sent(world, settings, BATCH - 1)
    forged = world.aggregator.report(settings, YES)
    forged = Report(forged.header, bytes(len(forged.sealed)))
    assert world.upload(settings.id, forged).codes == []
    world.tick()
    assert world.relay.queue.counts() == {
        "accepted": BATCH,
        "forwarded": BATCH - 1,
        "refused: cannot-open": 1,
    }


def test_reports_of_a_collection_that_was_closed_meanwhile_are_let_go(
    world: RelayWorld, settings: Collection
) -> None:
    sent(world, settings, BATCH)
    world.aggregator.service.registry.close(settings.id, audit=None)
    world.tick()
    assert world.relay.queue.counts()["refused: collection-closed"] == BATCH
    assert world.relay.queue.waiting() == 0


def test_nobody_else_may_read_the_file_and_a_report_that_went_is_gone_from_it(
    world: RelayWorld, settings: Collection
) -> None:
    path = world.options.directory / NAME
    reports = sent(world, settings, BATCH)
    assert path.stat().st_mode & 0o777 == 0o600
    wal = Path(f"{path}-wal")
    assert all(each.sealed in path.read_bytes() + wal.read_bytes() for each in reports)
    world.tick()
    world.restart()
    assert not any(each.sealed in path.read_bytes() for each in reports)
    assert not wal.exists() or not any(each.sealed in wal.read_bytes() for each in reports)


def test_a_second_relay_on_the_directory_is_refused(world: RelayWorld) -> None:
    from deniable_gateway.errors import LockedError
    from deniable_gateway.relay.wsgi import Relay

    with pytest.raises(LockedError):
        Relay(world.options, clock=world.clock)


def test_an_aggregator_that_cannot_be_read_leaves_the_copy_as_it_was(
    world: RelayWorld, settings: Collection
) -> None:
    before = world.get("/v1/keys").body
    world.relay._upstream.get = lambda path: b"no JSON"  # type: ignore[method-assign]  # the test replaces it
    world.tick(MIRROR_SECONDS)
    assert world.get("/v1/keys").body == before
