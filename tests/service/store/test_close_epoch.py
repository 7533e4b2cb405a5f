"""Closing an epoch: a stored fact, one way; ids go, counts stay."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import epoch_closing
from deniable_aggregator.store.rows import CommitStatus
from deniable_aggregator.store.sqlite import commit
from support.builders.databases import AnyStore, Database
from support.builders.store_reports import (
    COLLECTION,
    EPOCH,
    arrival,
    arrivals,
    counted,
    ids_kept,
    sums,
)
from support.doubles.kill_switch import Killed, KillSwitch


def test_a_closed_epoch_refuses_reports_and_keeps_its_counts(store: AnyStore) -> None:
    store.commit(arrivals(range(4)), sums)
    assert store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    assert store.commit(arrivals([1, 9]), sums) == [CommitStatus.CLOSED] * 2
    assert counted(store) == {EPOCH: (4, [4])}


def test_closing_deletes_the_ids_of_this_epoch_only(store: AnyStore, database: Database) -> None:
    store.commit(arrivals(range(4)) + arrivals(range(3), epoch=EPOCH + 1), sums)
    store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    assert ids_kept(database) == 3


def test_closing_twice_changes_nothing(store: AnyStore) -> None:
    assert store.close_epoch(COLLECTION, EPOCH, 100, audit=None)
    assert not store.close_epoch(COLLECTION, EPOCH, 200, audit=None)
    assert store.epochs(COLLECTION)[0].closed_at == 100


def test_closed_outlives_a_restart(store: AnyStore, database: Database) -> None:
    store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    store.close()
    again = database.open()
    assert again.is_closed(COLLECTION, EPOCH)
    assert not again.is_closed(COLLECTION, EPOCH + 1)
    assert again.commit([arrival(1)], sums) == [CommitStatus.CLOSED]
    again.close()


def test_sql_itself_refuses_to_touch_a_closed_epoch(store: AnyStore, database: Database) -> None:
    store.commit([arrival(1)], sums)
    store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    for statement in (
        "update cells set n = n + 1",
        "insert into cells (collection, epoch, manifest_version, cohort, n, tally_size)"
        " values (1, 20000, 7, 0, 1, 1)",
        "update pages set counts = x''",
        "insert into pages values (1, 5, x'')",
        "update closed_epochs set closed_at = 1",
        "delete from closed_epochs",
    ):
        with database.refusing("frozen|stays closed"):
            database.execute(statement)


def test_many_ids_are_deleted_in_slices(
    store: AnyStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_closing, "SWEEP_IDS", 10)
    store.commit(arrivals(range(95)) + arrivals(range(3), epoch=EPOCH + 1), sums)
    store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    assert ids_kept(database) == 3


def test_the_ids_of_an_open_epoch_cannot_be_swept(store: AnyStore) -> None:
    with (
        pytest.raises(StoreError, match="is open"),
        store._connections.write() as db,
    ):
        commit.sweep(db, 1, EPOCH)


def test_a_closing_killed_between_slices_is_finished_at_the_next_start(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_closing, "SWEEP_IDS", 10)
    switch = KillSwitch()
    store = database.open(switch)
    store.commit(arrivals(range(95)), sums)
    switch.arm(14)
    with pytest.raises(Killed):
        store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    left = database.left_behind()
    switch.arm(None)
    store.close()
    assert 0 < ids_kept(left) < 95
    again = left.open()
    assert again.is_closed(COLLECTION, EPOCH)
    assert ids_kept(left) == 0
    again.close()


def test_a_report_races_the_closing_and_is_counted_or_refused(store: AnyStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        before = [pool.submit(store.commit, [arrival(n)], sums) for n in range(60)]
        closing = pool.submit(store.close_epoch, COLLECTION, EPOCH, 0, audit=None)
        after = [pool.submit(store.commit, [arrival(n)], sums) for n in range(60, 120)]
        verdicts = [future.result()[0] for future in before + after]
        assert closing.result()
    n = store.epochs(COLLECTION)[0].n
    assert verdicts.count(CommitStatus.COUNTED) == n
    assert verdicts.count(CommitStatus.CLOSED) == 120 - n
