"""Counting: every id once, even if reports come twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.rows import CommitStatus, TallyKey
from deniable_aggregator.store.sqlite.commit import IDS_AT_ONCE
from support.builders.databases import AnyStore, Database
from support.builders.store_reports import (
    COLLECTION,
    EPOCH,
    arrival,
    arrivals,
    counted,
    ids_kept,
    register,
    sums,
)
from support.tiers import grid

COUNTED, DUPLICATE, CLOSED = CommitStatus.COUNTED, CommitStatus.DUPLICATE, CommitStatus.CLOSED


def test_new_reports_are_counted_and_added_up(store: AnyStore) -> None:
    batch = [arrival(1, b"\x01\x00"), arrival(2, b"\x01\x01"), arrival(3, b"\x00\x01")]
    assert store.commit(batch, sums) == [COUNTED] * 3
    assert counted(store) == {EPOCH: (3, [2, 2])}


def test_a_duplicate_in_one_batch_is_counted_once_and_the_first_wins(store: AnyStore) -> None:
    batch = [arrival(1, b"\x07"), arrival(1, b"\x01"), arrival(2, b"\x01"), arrival(1, b"\x01")]
    assert store.commit(batch, sums) == [COUNTED, DUPLICATE, COUNTED, DUPLICATE]
    assert counted(store) == {EPOCH: (2, [8])}


def test_a_duplicate_in_a_later_batch_is_counted_once(store: AnyStore) -> None:
    store.commit(arrivals(range(5)), sums)
    assert store.commit(arrivals(range(3, 8)), sums) == [DUPLICATE] * 2 + [COUNTED] * 3
    assert counted(store) == {EPOCH: (8, [8])}


def test_a_duplicate_after_a_restart_is_counted_once(store: AnyStore, database: Database) -> None:
    store.commit(arrivals([1, 2]), sums)
    store.close()
    again = database.open()
    assert again.commit(arrivals([2, 3]), sums) == [DUPLICATE, COUNTED]
    assert counted(again) == {EPOCH: (3, [3])}
    again.close()


def test_threads_that_commit_the_same_ids_count_each_once(store: AnyStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        batches = [arrivals(range(start, start + 20)) for start in range(0, 40, 5)] * 3
        verdicts = [
            v for found in pool.map(lambda b: store.commit(b, sums), batches) for v in found
        ]
    assert verdicts.count(COUNTED) == 55
    assert counted(store) == {EPOCH: (55, [55])}


def test_one_id_counts_in_every_epoch_and_collection_of_its_own(store: AnyStore) -> None:
    register(store, "other-aaaaaa")
    batch = [arrival(1), arrival(1, epoch=EPOCH + 1), arrival(1, collection="other-aaaaaa")]
    assert store.commit(batch, sums) == [COUNTED] * 3
    assert counted(store) == {EPOCH: (1, [1]), EPOCH + 1: (1, [1])}
    assert counted(store, "other-aaaaaa") == {EPOCH: (1, [1])}


def test_one_id_under_two_manifest_versions_is_a_duplicate(store: AnyStore) -> None:
    assert store.commit([arrival(1), arrival(1, version=2)], sums) == [COUNTED, DUPLICATE]


def test_versions_are_counted_in_cells_of_their_own(store: AnyStore) -> None:
    store.commit([arrival(1), arrival(2, version=2), arrival(3, version=2)], sums)
    rows = store.tallies(COLLECTION, EPOCH, EPOCH)
    assert [(row.key, row.n) for row in rows] == [
        (TallyKey(COLLECTION, EPOCH, 1), 1),
        (TallyKey(COLLECTION, EPOCH, 2), 2),
    ]


def test_a_mixed_batch_answers_each_report_in_its_place(store: AnyStore) -> None:
    store.close_epoch(COLLECTION, EPOCH - 1, 0, audit=None)
    store.commit([arrival(1)], sums)
    batch = [arrival(2), arrival(3, epoch=EPOCH - 1), arrival(1), arrival(4, epoch=EPOCH + 1)]
    assert store.commit(batch, sums) == [COUNTED, CLOSED, DUPLICATE, COUNTED]


@pytest.mark.parametrize(
    "size",
    grid(
        [1, IDS_AT_ONCE - 1, IDS_AT_ONCE, IDS_AT_ONCE + 1, 300],
        by_default=[1, IDS_AT_ONCE, IDS_AT_ONCE + 1],
    ),
)
def test_a_batch_of_any_size_counts_what_is_new(store: AnyStore, size: int) -> None:
    store.commit(arrivals(range(0, size, 3)), sums)
    expected = [COUNTED if number % 3 else DUPLICATE for number in range(size)]
    assert store.commit(arrivals(range(size)), sums) == expected
    assert counted(store) == {EPOCH: (size, [size])}


def test_a_verdict_is_found_by_its_text() -> None:
    assert {verdict.value: verdict for verdict in CommitStatus}.keys() == set(CommitStatus)


def test_no_report_is_no_work(store: AnyStore) -> None:
    assert store.commit([], sums) == []


def test_a_kernel_that_fails_leaves_no_id_behind(store: AnyStore, database: Database) -> None:
    def broken(cell: TallyKey, payloads: object) -> np.ndarray:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.commit(arrivals(range(9)), broken)
    assert ids_kept(database) == 0
    assert store.commit(arrivals(range(9)), sums) == [COUNTED] * 9


def test_a_tally_that_changes_its_length_is_refused(store: AnyStore) -> None:
    store.commit([arrival(1, b"\x01")], sums)
    with pytest.raises(StoreError, match="length to 2"):
        store.commit([arrival(2, b"\x01\x01")], sums)
    assert counted(store) == {EPOCH: (1, [1])}


def test_an_unknown_collection_is_refused_with_its_whole_batch(
    store: AnyStore,
) -> None:
    with pytest.raises(StoreError, match="'other-aaaaaa' has no manifest"):
        store.commit([arrival(1), arrival(1, collection="other-aaaaaa")], sums)
    assert counted(store) == {}


@pytest.mark.parametrize("size", grid([1, 2, 127, 128, 129, 300], by_default=[2, 129]))
def test_a_batch_of_any_size_half_of_it_known_is_told_apart(store: AnyStore, size: int) -> None:
    store.commit(arrivals(range(0, size, 2)), sums)
    wanted = [COUNTED if number % 2 else DUPLICATE for number in range(size)]
    assert store.commit(arrivals(range(size)), sums) == wanted
    assert counted(store) == {EPOCH: (size, [size])}


@pytest.mark.slow
def test_a_large_batch_is_one_transaction(store: AnyStore) -> None:
    assert store.commit(arrivals(range(5_000)), sums) == [COUNTED] * 5_000
    assert store.commit(arrivals(range(5_000)), sums) == [DUPLICATE] * 5_000
    assert counted(store) == {EPOCH: (5_000, [5_000])}
