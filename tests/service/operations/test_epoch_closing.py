"""Epochs close by the clock, once, for good; what comes later is refused."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deniable_aggregator.store.rows import EpochRow
from deniable_shared.wire.problems import ReportError
from support.builders.databases import Sqlite
from support.builders.service_world import DAY, TODAY, TOML, World, authored
from support.builders.store_reports import ids_kept

GRACE_ENDS = (TODAY + 3) * DAY


def epochs(bare_service: World) -> list[EpochRow]:
    return bare_service.running.store.epochs(bare_service.manifest.collection)


def test_an_epoch_closes_once_its_grace_is_over_and_not_a_second_before(
    bare_service: World,
) -> None:
    bare_service.upload(bare_service.report())
    bare_service.clock.now = GRACE_ENDS
    bare_service.running.tick()
    assert epochs(bare_service) == [EpochRow(TODAY, 1, None)]
    bare_service.clock.now = GRACE_ENDS + 1
    bare_service.running.tick()
    assert epochs(bare_service) == [EpochRow(TODAY, 1, GRACE_ENDS + 1)]


def test_closing_deletes_the_ids(bare_service: World) -> None:
    bare_service.upload(bare_service.report())
    bare_service.upload(bare_service.report(bare_service.header(epoch=TODAY - 2)))
    bare_service.clock.now = GRACE_ENDS - 1
    bare_service.running.tick()
    assert ids_kept(Sqlite(bare_service.running.settings.database)) == 1


def test_ticks_after_the_first_change_nothing(bare_service: World) -> None:
    bare_service.upload(bare_service.report())
    bare_service.clock.now = GRACE_ENDS + 1
    bare_service.running.tick()
    before = epochs(bare_service)
    bare_service.clock.now += DAY
    bare_service.running.tick()
    assert epochs(bare_service) == before


def test_a_clock_that_is_set_back_opens_nothing(bare_service: World) -> None:
    report = bare_service.report()
    bare_service.upload(report)
    morning = bare_service.clock.now
    bare_service.clock.now = GRACE_ENDS + 1
    bare_service.running.tick()
    bare_service.clock.now = morning
    refused = bare_service.report()
    assert bare_service.upload(report) == [(report.header.report_id, ReportError.EPOCH_CLOSED)]
    assert bare_service.upload(refused) == [(refused.header.report_id, ReportError.EPOCH_CLOSED)]
    assert bare_service.n() == 1


def test_every_collection_closes_by_its_own_grace(bare_service: World) -> None:
    text = TOML.replace('name = "settings"', 'name = "colours"').replace('"2d"', '"5d"')
    other = authored(text)
    bare_service.running.registry.apply(bare_service.signed(other), audit=None)
    store = bare_service.running.store
    for collection in (bare_service.manifest.collection, other.collection):
        store.close_epoch(collection, TODAY - 9, 0, audit=None)
    bare_service.upload(bare_service.report())
    bare_service.clock.now = GRACE_ENDS + 1
    bare_service.running.tick()
    closed = [
        store.is_closed(c, TODAY) for c in (bare_service.manifest.collection, other.collection)
    ]
    assert closed == [True, False]


def test_the_epochs_of_a_closed_collection_still_close(bare_service: World) -> None:
    bare_service.upload(bare_service.report())
    bare_service.running.registry.close(bare_service.manifest.collection, audit=None)
    bare_service.clock.now = GRACE_ENDS + 1
    bare_service.running.tick()
    assert bare_service.running.store.is_closed(bare_service.manifest.collection, TODAY)


@pytest.mark.slow
def test_reports_that_race_the_closing_are_counted_or_refused(bare_service: World) -> None:
    reports = [bare_service.report() for _ in range(200)]
    started = threading.Event()

    def send(number: int) -> int:
        if number == 60:
            started.set()
        return len(bare_service.upload(reports[number]))

    def close() -> None:
        assert started.wait(60)
        bare_service.running.store.close_epoch(
            bare_service.manifest.collection, TODAY, bare_service.clock(), audit=None
        )

    with ThreadPoolExecutor(8) as pool:
        closing = pool.submit(close)
        refused = sum(pool.map(send, range(200)))
        closing.result()
    assert bare_service.n() == 200 - refused
    assert ids_kept(Sqlite(bare_service.running.settings.database)) == 0
