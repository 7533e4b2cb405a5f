"""A relay whose clock jumped takes nothing, passes nothing on and forgets nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable_aggregator.collections.registry import Collection
from deniable_gateway.clock import record
from deniable_gateway.clock.reading import Reading, boot_id
from deniable_gateway.relay.wsgi import Relay
from support.builders.data_directory import DAY, Moment
from support.builders.relay_reports import YES, sent
from support.builders.relay_world import BATCH, RelayWorld, sender_to


@pytest.fixture
def clock(world: RelayWorld, settings: Collection) -> Moment:
    """The relay's own, which is watched; the aggregator's is right."""
    clock = Moment(world.clock())
    world.relay.close()
    send = sender_to(world.wiretap)
    world.relay = Relay(world.options, clock=clock, boot_clock=lambda: 1_000.0, send=send)
    world.relay.tick()
    return clock


@pytest.mark.parametrize("step", [400 * DAY, -10 * DAY])
def test_reports_that_wait_are_kept_and_new_ones_come_back(
    world: RelayWorld, settings: Collection, clock: Moment, step: float
) -> None:
    waiting = sent(world, settings, BATCH - 1)
    last = world.aggregator.report(settings, YES)
    clock.now += step
    assert world.upload(settings.id, last).status == 503
    world.relay.tick()
    assert world.get("/readyz").status == 503
    assert world.relay.queue.waiting() == len(waiting)
    clock.now -= step
    world.relay.tick()
    assert world.get("/readyz").status == 200
    assert world.upload(settings.id, last).codes == []
    world.relay.tick()
    assert world.n(settings.id) == BATCH


def test_it_is_confirmed_as_a_service_is(
    world: RelayWorld, settings: Collection, clock: Moment
) -> None:
    clock.now += DAY
    world.relay.tick()
    assert b"deniable doctor confirm-clock" in world.get("/readyz").body
    folder = Path(world.options.data)
    record.write_confirmed(folder, Reading(clock.now, 1_000.0, boot_id()))
    world.relay.tick()
    assert world.get("/readyz").status == 200
