"""A relay whose clock jumped takes nothing, passes nothing on and forgets nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_gateway.clock import record
from deniable_gateway.clock.reading import Reading, boot_id
from deniable_gateway.relay.asgi import Relay
from support.builders.data_directory import DAY, Moment
from support.builders.relay_reports import YES, sent
from support.builders.relay_world import BATCH, RelayWorld, sender_to


@pytest.fixture
def clock(relay: RelayWorld, collection: Collection) -> Moment:
    """The relay's own, which is watched; the aggregator's is right."""
    clock = Moment(relay.clock())
    relay.running.close()
    send = sender_to(relay.wiretap)
    relay.running = Relay(relay.options, clock=clock, boot_clock=lambda: 1_000.0, send=send)
    relay.running.tick()
    return clock


@pytest.mark.slow
@pytest.mark.parametrize("step", [400 * DAY, -10 * DAY])
def test_reports_that_wait_are_kept_and_new_ones_come_back(
    relay: RelayWorld, collection: Collection, clock: Moment, step: float
) -> None:
    waiting = sent(relay, collection, BATCH - 1)
    last = relay.aggregator.report(collection, YES)
    clock.now += step
    assert relay.upload(collection.id, last).status == 503
    relay.running.tick()
    assert relay.get("/readyz").status == 503
    assert relay.running.queue.waiting() == len(waiting)
    clock.now -= step
    relay.running.tick()
    assert relay.get("/readyz").status == 200
    assert relay.upload(collection.id, last).codes == []
    relay.running.tick()
    assert relay.n(collection.id) == BATCH


def test_it_is_confirmed_as_a_service_is(
    relay: RelayWorld, collection: Collection, clock: Moment
) -> None:
    clock.now += DAY
    relay.running.tick()
    assert b"deniable doctor confirm-clock" in relay.get("/readyz").body
    folder = Path(relay.options.data)
    record.write_confirmed(folder, Reading(clock.now, 1_000.0, boot_id()))
    relay.running.tick()
    assert relay.get("/readyz").status == 200
