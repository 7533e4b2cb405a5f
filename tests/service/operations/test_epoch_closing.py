"""Epochs close by the clock, once, for good; what comes later is refused."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from deniable_aggregator.store.rows import EpochRow
from deniable_shared.wire.problems import ReportError
from support.builders.databases import Sqlite
from support.builders.service_world import DAY, TODAY, TOML, World, authored
from support.builders.store_reports import ids_kept

GRACE_ENDS = (TODAY + 3) * DAY


def epochs(world: World) -> list[EpochRow]:
    return world.service.store.epochs(world.manifest.collection)


def test_an_epoch_closes_once_its_grace_is_over_and_not_a_second_before(world: World) -> None:
    world.upload(world.report())
    world.clock.now = GRACE_ENDS
    world.service.tick()
    assert epochs(world) == [EpochRow(TODAY, 1, None)]
    world.clock.now = GRACE_ENDS + 1
    world.service.tick()
    assert epochs(world) == [EpochRow(TODAY, 1, GRACE_ENDS + 1)]


def test_closing_deletes_the_ids(world: World) -> None:
    world.upload(world.report())
    world.upload(world.report(world.header(epoch=TODAY - 2)))
    world.clock.now = GRACE_ENDS - 1
    world.service.tick()
    assert ids_kept(Sqlite(world.service.settings.database)) == 1


def test_ticks_after_the_first_change_nothing(world: World) -> None:
    world.upload(world.report())
    world.clock.now = GRACE_ENDS + 1
    world.service.tick()
    before = epochs(world)
    world.clock.now += DAY
    world.service.tick()
    assert epochs(world) == before


def test_a_clock_that_is_set_back_opens_nothing(world: World) -> None:
    report = world.report()
    world.upload(report)
    morning = world.clock.now
    world.clock.now = GRACE_ENDS + 1
    world.service.tick()
    world.clock.now = morning
    refused = world.report()
    assert world.upload(report) == [(report.header.report_id, ReportError.EPOCH_CLOSED)]
    assert world.upload(refused) == [(refused.header.report_id, ReportError.EPOCH_CLOSED)]
    assert world.n() == 1


def test_every_collection_closes_by_its_own_grace(world: World) -> None:
    text = TOML.replace('name = "settings"', 'name = "colours"').replace('"2d"', '"5d"')
    other = authored(text)
    world.service.registry.apply(world.signed(other), audit=None)
    store = world.service.store
    for collection in (world.manifest.collection, other.collection):
        store.close_epoch(collection, TODAY - 9, 0, audit=None)
    world.upload(world.report())
    world.clock.now = GRACE_ENDS + 1
    world.service.tick()
    closed = [store.is_closed(c, TODAY) for c in (world.manifest.collection, other.collection)]
    assert closed == [True, False]


def test_the_epochs_of_a_closed_collection_still_close(world: World) -> None:
    world.upload(world.report())
    world.service.registry.close(world.manifest.collection, audit=None)
    world.clock.now = GRACE_ENDS + 1
    world.service.tick()
    assert world.service.store.is_closed(world.manifest.collection, TODAY)


def test_reports_that_race_the_closing_are_counted_or_refused(world: World) -> None:
    reports = [world.report() for _ in range(200)]
    started = threading.Event()

    def send(number: int) -> int:
        if number == 60:
            started.set()
        return len(world.upload(reports[number]))

    def close() -> None:
        assert started.wait(60)
        world.service.store.close_epoch(world.manifest.collection, TODAY, world.clock(), audit=None)

    with ThreadPoolExecutor(8) as pool:
        closing = pool.submit(close)
        refused = sum(pool.map(send, range(200)))
        closing.result()
    assert world.n() == 200 - refused
    assert ids_kept(Sqlite(world.service.settings.database)) == 0
