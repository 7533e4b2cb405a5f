"""Several consumers and services over one database: no epoch closes early, nothing counts twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases.context import close_epochs
from deniable_aggregator.releases.request import EpochSelection
from deniable_aggregator.spool.consumer import MARGIN_SECONDS, SpoolConsumer
from deniable_gateway.problem import Problem
from support.builders import split_service
from support.builders.data_directory import DAY, TODAY
from support.builders.databases import KINDS, AnyStore
from support.builders.split_service import Split

pytestmark = pytest.mark.slow

GRACE_ENDS = (TODAY + 1) * DAY + 2 * DAY


@pytest.fixture
def split(tmp_path: Path) -> Iterator[Split]:
    with split_service.opened(tmp_path, "postgres") as split:
        split.consumer.run_once()
        yield split


@pytest.fixture
def beside(split: Split) -> Iterator[Service]:
    """A service that serves the same database."""
    service = Service.open(split.world.running.settings, clock=split.clock)
    with closing(service):
        yield service


def consumer_in(service: Service, split: Split) -> SpoolConsumer:
    return SpoolConsumer(service, split.spool, clock=split.clock)


def test_two_consumers_at_once_count_each_report_once(split: Split, beside: Service) -> None:
    ready = Barrier(2)

    def drained(consumer: SpoolConsumer) -> int:
        ready.wait()
        return consumer.run_once(at_once=True)

    for _ in range(3):
        before = split.n()
        split.take(12)
        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(drained, (split.consumer, consumer_in(beside, split))))
        assert (split.n(), split.waiting()) == (before + 12, [])
        assert 12 <= sum(found) <= 24


def test_blocks_that_another_consumer_has_counted_are_no_error(
    split: Split, beside: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    split.take(5)
    other, drain = consumer_in(beside, split), split.consumer._drain

    def too_late(listed: Sequence[Any]) -> int:
        assert other.run_once(at_once=True) == 5
        return drain(listed)

    monkeypatch.setattr(split.consumer, "_drain", too_late)
    assert split.consumer.run_once(at_once=True) == 0
    assert split.n() == 5


def test_a_report_to_the_intake_and_to_the_service_is_counted_once(
    split: Split, beside: Service
) -> None:
    [report] = split.take(1)
    assert (
        beside.ingest.upload(split.collection.id, report.encode(), prefix=None, relay=False) == []
    )
    split.consumer.run_once(at_once=True)
    assert split.n() == 1


def test_maintenance_closes_no_epoch_before_its_spool_is_counted(
    split: Split, beside: Service
) -> None:
    split.take(1)
    split.consumer.run_once(at_once=True)
    split.world.running.store.close()  # the service leads, and the consumer is away
    split.clock.now = float(GRACE_ENDS)
    split.take(3, epoch=TODAY)  # in the last second
    split.clock.now += 3 * DAY
    beside.tick()
    assert beside.store.try_lead()
    assert not beside.store.is_closed(split.collection.id, TODAY)
    consumer = consumer_in(beside, split)
    assert consumer.run_once() == 3
    assert [row.n for row in beside.store.epochs(split.collection.id)] == [4]
    assert beside.store.is_closed(split.collection.id, TODAY)


def test_a_release_does_not_close_an_epoch_whose_spool_is_not_counted(
    split: Split, beside: Service
) -> None:
    split.take(3)
    split.clock.now = GRACE_ENDS + 1.0
    found = beside.registry.get(split.collection.id)
    with pytest.raises(Problem) as refused:
        close_epochs(beside.store, found, EpochSelection(listed=(TODAY,)), split.clock())
    assert refused.value.slug == "epoch-open"
    split.clock.now += 2 * MARGIN_SECONDS
    assert split.consumer.run_once(at_once=True) == 3
    assert close_epochs(
        beside.store, found, EpochSelection(listed=(TODAY,)), split.clock()
    ).read == (TODAY,)


def test_no_key_is_destroyed_before_what_was_sealed_to_it_is_counted(
    split: Split, beside: Service
) -> None:
    split.world.running.store.close()
    split.take(1)
    beside.keys.rotate(1, at_once=True, audit=None)
    split.clock.now = GRACE_ENDS + 3.0 * DAY
    beside.tick()
    assert consumer_in(beside, split).run_once() == 1
    assert [row.n for row in beside.store.epochs(split.collection.id)] == [1]


def test_the_slower_of_two_spools_is_waited_for(split: Split, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    second = SpoolConsumer(split.world.running, tmp_path / "second", clock=split.clock)
    split.take(1)
    split.clock.now = GRACE_ENDS + 2 * MARGIN_SECONDS
    split.consumer.run_once()
    assert not split.is_closed(TODAY)
    second.run_once()
    assert split.is_closed(TODAY)


@pytest.mark.parametrize("kind", KINDS)
def test_a_spool_that_is_given_up_is_counted_and_then_not_waited_for(
    kind: str, tmp_path: Path
) -> None:
    with split_service.opened(tmp_path, kind) as split:
        split.take(2)
        assert split.consumer.finish() == 2
        split.clock.now = GRACE_ENDS + 1.0
        split.world.running.tick()
        assert split.is_closed(TODAY)
        assert (split.n(), split.world.running.store.spool_progress()) == (2, {})


def test_how_far_a_spool_is_counted_never_goes_back(store: AnyStore) -> None:
    for until, kept in ((0, 0), (20.9, 20), (10, 20), (30, 30)):
        store.set_spool_progress("/srv/spool", until)
        assert store.spool_progress() == {"/srv/spool": kept}
    store.set_spool_progress("/srv/other", 5)
    assert store.remove_spool("/srv/spool")
    assert not store.remove_spool("/srv/spool")
    assert store.spool_progress() == {"/srv/other": 5}
