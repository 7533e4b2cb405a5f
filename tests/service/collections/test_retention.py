"""Tallies go when their time is over; that they were there, and what was released, stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.collections import retention
from deniable_aggregator.queries.pooled_tallies import EpochRange, pooled_tally, tallies_by_epoch
from deniable_aggregator.store.rows import CommitStatus, EpochRow
from deniable_gateway.clock.watch import SETTLING_SECONDS
from deniable_gateway.problem import Problem
from support.builders import databases
from support.builders.api_world import DAY, TODAY, World, authored, opened
from support.builders.databases import KINDS, Database
from support.builders.ledgers import admitted, charge_row, result_row
from support.builders.release_world import BITS, ReleaseWorld, asked, over
from support.builders.store_reports import COLLECTION, EPOCH, arrivals, counted, rows, sums
from support.builders.two_services import pair
from support.tiers import grid

DAYS = 10
GOES = (TODAY + 1 + DAYS) * DAY
"""The last second in which today's tallies are kept."""


@pytest.fixture(params=grid(KINDS, by_default=["sqlite"]))
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    made = databases.fresh(request.param, tmp_path)
    yield made
    made.delete()


def filled(database: Database) -> databases.AnyStore:
    store = database.open()
    for epoch in (EPOCH, EPOCH + 1):
        store.commit(arrivals(range(5), b"\1" * 9_000, epoch=epoch), sums)
    store.close_epoch(COLLECTION, EPOCH, 7, audit=None)
    return store


def test_an_expired_epoch_has_no_counts_and_stays_listed(database: Database) -> None:
    store = filled(database)
    assert store.expire_epoch(COLLECTION, EPOCH, 9)
    assert store.epochs(COLLECTION) == [EpochRow(EPOCH, 0, 7, 9), EpochRow(EPOCH + 1, 5, None)]
    store.roll_up()
    assert set(counted(store)) == {EPOCH + 1}
    assert (rows(database, "cells"), rows(database, "pages")) == (1, 3)
    assert not store.expire_epoch(COLLECTION, EPOCH, 11)
    assert store.epochs(COLLECTION)[0].expired_at == 9
    store.close()


def test_an_open_epoch_does_not_expire(database: Database) -> None:
    store = filled(database)
    with pytest.raises(StoreError, match="is open"):
        store.expire_epoch(COLLECTION, EPOCH + 1, 9)
    assert counted(store)[EPOCH + 1][0] == 5
    store.close()


def test_nothing_comes_back_to_an_expired_epoch(database: Database) -> None:
    store = filled(database)
    store.expire_epoch(COLLECTION, EPOCH, 9)
    assert set(store.commit(arrivals([1, 99], b"\1" * 9_000), sums)) == {CommitStatus.CLOSED}
    assert not store.close_epoch(COLLECTION, EPOCH, 11, audit=None)
    for change in ("delete from expired_epochs", "update expired_epochs set expired_at = 0"):
        with database.refusing("an expired epoch stays expired"):
            database.execute(change)
    store.close()


@pytest.mark.parametrize("table", ["cells", "pages"])
def test_counts_of_a_closed_epoch_are_not_deleted_before_it_expires(
    database: Database, table: str
) -> None:
    store = filled(database)
    store.roll_up()
    with database.refusing("the counts of a closed epoch are frozen"):
        database.execute(f"delete from {table}")  # noqa: S608  (the names in it are fixed)
    store.close()


def test_charges_results_and_log_outlive_the_tallies(database: Database) -> None:
    store = filled(database)
    store.charge(charge_row(1), admitted, audit=None)
    store.store_result(result_row(1), b"record")
    before = (store.ledger(), store.log(), store.results(COLLECTION))
    store.expire_epoch(COLLECTION, EPOCH, 9)
    assert (store.ledger(), store.log(), store.results(COLLECTION)) == before
    store.close()


@given(
    st.integers(0, 10**6),
    st.integers(1, 3_650),
    st.sampled_from([1, 3_600, 43_200, 86_400, 604_800]),
    st.integers(-2, 2),
)
def test_the_first_epoch_that_is_kept_is_the_first_that_is_not_over(
    epoch: int, days: int, seconds: int, around: int
) -> None:
    class Rule:
        epoch_seconds, retention_days = seconds, days

    now = (epoch + 1) * seconds + days * DAY + around
    first = retention.first_kept(Rule(), now)  # type: ignore[arg-type]  # a double with the two fields that are read
    assert not retention.is_over(Rule(), first, now)  # type: ignore[arg-type]  # a double with the two fields that are read
    assert first == 0 or retention.is_over(Rule(), first - 1, now)  # type: ignore[arg-type]  # a double with the two fields that are read


@pytest.fixture
def service(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as made:
        yield made


def settle(service: World) -> None:
    """Tallies that are due now are deleted by the second tick, an hour after the first."""
    service.running.tick()
    service.clock.now += SETTLING_SECONDS
    service.running.tick()


@pytest.mark.parametrize("read", ["live", "closed", "releases"])
def test_the_tick_deletes_tallies_not_a_second_before_their_time(service: World, read: str) -> None:
    manifest = authored(read, read=read, more=f"retention_days = {DAYS}\n")
    collection = service.register(manifest)
    service.count(collection, [BITS] * 4)
    store, listing = service.running.store, f"/v1/collections/{collection.id}/epochs"
    service.clock.now = GOES
    service.running.tick()
    assert [(row.n, row.expired_at) for row in store.epochs(collection.id)] == [(4, None)]
    for later in (1, SETTLING_SECONDS):
        service.clock.now = GOES + later
        service.running.tick()
        assert [(row.n, row.expired_at) for row in store.epochs(collection.id)] == [(4, None)]
    gone = service.clock.now = GOES + 2 * SETTLING_SECONDS
    service.running.tick()
    assert [(row.n, row.expired_at) for row in store.epochs(collection.id)] == [(0, gone)]
    [listed] = [e for e in service.get(listing).get_json()["epochs"] if e["epoch"] == TODAY]
    assert (listed["state"], listed["expired"], listed.get("n")) == ("closed", True, None)


@pytest.mark.slow
def test_a_lowered_retention_holds_for_what_is_there(service: World) -> None:
    collection = service.register(authored("settings", more="retention_days = 400\n"))
    service.count(collection, [BITS] * 4)
    service.clock.now = GOES + 1
    settle(service)
    assert service.running.store.epochs(collection.id)[0].n == 4
    spender = ReleaseWorld(service, collection)
    spender.follow({"retention_days": DAYS})
    service.running.tick()
    assert service.running.store.epochs(collection.id)[0].n == 0


def test_estimates_are_about_the_epochs_that_are_left(service: World) -> None:
    collection = service.register(authored("settings", more=f"retention_days = {DAYS}\n"))
    service.count(collection, [BITS] * 4)
    service.count(collection, [BITS] * 5, epoch=TODAY + 1)
    service.clock.now = GOES + 1
    settle(service)
    store = service.running.store
    assert pooled_tally(store, collection, EpochRange()).epochs == (TODAY + 1,)
    readings, few = tallies_by_epoch(store, collection, EpochRange())
    assert ([reading.n for reading in readings], few) == ([5], ())
    with pytest.raises(Problem, match="hold 0 readable reports"):
        pooled_tally(store, collection, EpochRange(TODAY, TODAY))


@pytest.mark.parametrize("ticked", [False, True])
def test_a_release_reads_no_epoch_whose_days_are_over(service: World, ticked: bool) -> None:
    more = f"retention_days = {DAYS}\n"
    collection = service.register(authored("theme", read="releases", more=more))
    for epoch in (TODAY, TODAY + 1):
        service.count(collection, [BITS] * 5, epoch=epoch)
    spender = ReleaseWorld(service, collection)
    service.clock.now = GOES + 1
    if ticked:
        settle(service)
    shown = spender.releases.release(collection, asked("0.1"), audit=None)
    [charge] = service.running.store.charges(collection.id)
    assert charge.release == shown.row.release
    assert min(charge.epochs) == TODAY + 1
    with pytest.raises(Problem, match="epochs with tallies"):
        spender.releases.release(collection, asked("0.1", epochs=over(TODAY)), audit=None)


def test_a_session_ends_with_the_tallies_it_reads(service: World) -> None:
    more = f"retention_days = {DAYS}\n"
    collection = service.register(authored("theme", read="releases", more=more))
    service.count(collection, [BITS] * 5)
    spender = ReleaseWorld(service, collection)
    service.clock.now = GOES
    talk = asked("0.25", mechanism="talk", epochs=over(TODAY))
    release = spender.releases.release(collection, talk, audit=None).row.release
    spender.releases.sessions.ask(collection, release, {"label": 0}, audit=None)
    service.clock.now = GOES + 1
    settle(service)
    with pytest.raises(Problem, match="tallies are deleted") as caught:
        spender.releases.sessions.ask(collection, release, {"label": 1}, audit=None)
    assert caught.value.slug == "conflict"
    assert service.running.store.result(release) is not None


@pytest.mark.slow
def test_on_postgresql_the_leader_deletes_them(tmp_path: Path) -> None:
    with pair(tmp_path) as (first, second):
        first.upload(first.report())
        days = first.manifest.retention_days
        for each in (first, second):
            each.clock.now = (TODAY + 1 + days) * DAY + 1
            each.running.tick()
            each.clock.now += SETTLING_SECONDS
            each.running.tick()
        [row] = second.running.store.epochs(first.manifest.collection)
        assert (row.n, row.expired_at) == (0, int(first.clock.now))
