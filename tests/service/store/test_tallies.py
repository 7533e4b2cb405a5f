"""Tallies in pages: what is added up is what was reported, in any split and for any length."""

from __future__ import annotations

from itertools import count

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable_aggregator.store.protocols import Store
from deniable_aggregator.store.rows import PAGE_SIZE, AcceptedReport, TallyKernel, TallyKey
from support.builders.databases import AnyStore, Database
from support.builders.store_reports import COLLECTION, EPOCH, arrival, report_id, sums
from support.tiers import by_tier

another_epoch = count(EPOCH + 1)


def histogram(size: int) -> TallyKernel:
    """A kernel over payloads of two bytes: the index of what is counted."""

    def tally(cell: TallyKey, payloads: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        indices = payloads.astype(np.int64) @ np.array([256, 1])
        return np.bincount(indices, minlength=size).astype(np.int64)

    return tally


def reports(indices: list[int], *, first: int = 0, epoch: int = EPOCH) -> list[AcceptedReport]:
    cell = TallyKey(COLLECTION, epoch, 1)
    return [
        AcceptedReport(cell, report_id(first + place), index.to_bytes(2, "big"))
        for place, index in enumerate(indices)
    ]


def whole(store: Store, epoch: int = EPOCH) -> list[int]:
    [row] = store.tallies(COLLECTION, epoch, epoch)
    assert row.tally.dtype == np.int64
    return [int(count) for count in row.tally]


@st.composite
def split_reports(draw: st.DrawFn) -> tuple[int, list[int], list[int]]:
    size = draw(st.sampled_from([1, 2, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 9_000, 65_536]))
    indices = st.lists(st.integers(0, size - 1), min_size=1, max_size=30)
    return size, draw(indices), draw(indices)


@given(split_reports())
@settings(
    max_examples=by_tier(15, 60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_tally_of_two_batches_is_the_sum_of_their_tallies(
    store: AnyStore, case: tuple[int, list[int], list[int]]
) -> None:
    (size, first, second), epoch = case, next(another_epoch)
    store.commit(reports(first, epoch=epoch), histogram(size))
    store.commit(reports(second, first=len(first), epoch=epoch), histogram(size))
    wanted = np.bincount(first + second, minlength=size).tolist()
    assert whole(store, epoch) == wanted
    store.roll_up()
    assert whole(store, epoch) == wanted


def test_a_page_is_4096_little_endian_integers(store: AnyStore, database: Database) -> None:
    store.commit(reports([0, PAGE_SIZE, PAGE_SIZE]), histogram(PAGE_SIZE + 2))
    store.roll_up()
    assert database.execute("select page, counts from pages order by page") == [
        (0, (1).to_bytes(8, "little") + bytes(8 * (PAGE_SIZE - 1))),
        (1, (2).to_bytes(8, "little") + bytes(8)),
    ]


def test_a_page_that_is_all_zero_is_not_stored(store: AnyStore, database: Database) -> None:
    store.commit(reports([60_000]), histogram(65_536))
    store.roll_up()
    assert database.execute("select page from pages") == [(14,)]
    assert whole(store)[60_000] == 1
    assert sum(whole(store)) == 1


def test_reports_that_support_nothing_still_count(store: AnyStore) -> None:
    store.commit([arrival(1, b"\x00\x00\x00")], sums)
    [row] = store.tallies(COLLECTION, EPOCH, EPOCH)
    assert (row.n, row.tally.tolist()) == (1, [0, 0, 0])


def test_counts_beyond_32_bits_are_exact(store: AnyStore) -> None:
    def huge(cell: TallyKey, payloads: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        return np.full(3, 2**40 + 1, np.int64)

    store.commit([arrival(1)], huge)
    store.commit([arrival(2)], huge)
    assert whole(store) == [2**41 + 2] * 3


def test_only_the_epochs_asked_for_are_read(store: AnyStore) -> None:
    for number in range(5):
        store.commit([arrival(number, epoch=number)], sums)
    assert [row.key.epoch for row in store.tallies(COLLECTION, 1, 3)] == [1, 2, 3]
    assert store.tallies(COLLECTION, 9, 9) == []


def test_epochs_are_listed_in_order_with_all_their_cells(store: AnyStore) -> None:
    store.commit([arrival(1, epoch=7), arrival(2, epoch=5), arrival(3, epoch=7, version=2)], sums)
    store.close_epoch(COLLECTION, 5, 1_000.9, audit=None)
    store.close_epoch(COLLECTION, 6, 2_000, audit=None)
    rows = [(row.epoch, row.n, row.closed_at) for row in store.epochs(COLLECTION)]
    assert rows == [(5, 1, 1_000), (6, 0, 2_000), (7, 2, None)]
