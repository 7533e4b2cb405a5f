"""One report a voucher: redeemed in the transaction that inserts the id, or not at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.store import epoch_closing
from deniable_aggregator.store.batches import ScopedId, find_spent
from deniable_aggregator.store.rows import AcceptedReport, CommitStatus
from support.builders.databases import AnyStore, Database
from support.builders.store_reports import (
    COLLECTION,
    EPOCH,
    arrival,
    counted,
    ids_kept,
    rows,
    sums,
    vouched,
)
from support.doubles.kill_switch import Killed, KillSwitch

COUNTED, DUPLICATE, SPENT, CLOSED = (
    CommitStatus.COUNTED,
    CommitStatus.DUPLICATE,
    CommitStatus.SPENT,
    CommitStatus.CLOSED,
)


def test_a_voucher_is_redeemed_with_the_report_that_is_counted(
    store: AnyStore, database: Database
) -> None:
    assert store.commit(vouched(range(3)), sums) == [COUNTED] * 3
    assert counted(store) == {EPOCH: (3, [3])}
    assert (ids_kept(database), rows(database, "vouchers")) == (3, 3)


def test_the_same_pair_again_is_a_duplicate(store: AnyStore, database: Database) -> None:
    store.commit(vouched([1]), sums)
    assert store.commit(vouched([1]), sums) == [DUPLICATE]
    assert (counted(store), rows(database, "vouchers")) == ({EPOCH: (1, [1])}, 1)


def test_another_report_with_a_spent_voucher_is_refused_and_leaves_nothing(
    store: AnyStore, database: Database
) -> None:
    store.commit(vouched([1]), sums)
    assert store.commit(vouched([1, 2], offset=10), sums) == [SPENT, COUNTED]
    assert store.commit(vouched([1], offset=10), sums) == [SPENT]
    assert counted(store) == {EPOCH: (2, [2])}
    assert (ids_kept(database), rows(database, "vouchers")) == (2, 2)


def test_of_two_reports_with_one_voucher_in_a_batch_the_first_is_counted(store: AnyStore) -> None:
    batch = [arrival(9, voucher=1), arrival(2, voucher=1), arrival(9, voucher=1), arrival(3)]
    assert store.commit(batch, sums) == [COUNTED, SPENT, DUPLICATE, COUNTED]
    assert counted(store) == {EPOCH: (2, [2])}


def test_a_refused_report_is_refused_wherever_the_batch_has_it(store: AnyStore) -> None:
    store.commit(vouched([1]), sums)
    batch = [arrival(5, voucher=1), arrival(6, voucher=2), arrival(5, voucher=1)]
    assert store.commit(batch, sums) == [SPENT, COUNTED, SPENT]


def test_a_counted_report_does_not_spend_a_second_voucher(
    store: AnyStore, database: Database
) -> None:
    store.commit([arrival(1, voucher=1)], sums)
    assert store.commit([arrival(1, voucher=2)], sums) == [DUPLICATE]
    assert store.commit([arrival(3, voucher=2)], sums) == [COUNTED]
    assert rows(database, "vouchers") == 2


def test_a_refused_report_may_come_again_with_a_voucher_of_its_own(store: AnyStore) -> None:
    store.commit(vouched([1]), sums)
    assert store.commit([arrival(7, voucher=1)], sums) == [SPENT]
    assert store.commit([arrival(7, voucher=7)], sums) == [COUNTED]


def test_a_serial_counts_in_every_epoch_of_its_own(store: AnyStore) -> None:
    batch = [arrival(1, voucher=1), arrival(2, voucher=1, epoch=EPOCH + 1)]
    assert store.commit(batch, sums) == [COUNTED] * 2


def test_serials_go_when_their_epoch_closes(store: AnyStore, database: Database) -> None:
    store.commit([*vouched(range(3)), arrival(9, voucher=9, epoch=EPOCH + 1)], sums)
    store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    assert rows(database, "vouchers") == 1
    assert store.commit(vouched([1], offset=10), sums) == [CLOSED]


def test_serials_go_in_slices_too_and_an_interrupted_deletion_is_finished(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_closing, "SWEEP_IDS", 2)
    switch = KillSwitch()
    store = database.open(switch)
    store.commit(vouched(range(7)), sums)
    switch.arm(28)
    with pytest.raises(Killed):
        store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    left = database.left_behind()
    switch.arm(None)
    store.close()
    assert ids_kept(left) == 0
    assert 0 < rows(left, "vouchers") < 7
    with closing(left.open()) as again:
        assert again.is_closed(COLLECTION, EPOCH)
        assert (ids_kept(left), rows(left, "vouchers")) == (0, 0)
        assert counted(again)[EPOCH][0] == 7


def test_threads_that_redeem_the_same_vouchers_count_each_once(
    store: AnyStore, database: Database
) -> None:
    with ThreadPoolExecutor(8) as pool:
        batches = [vouched(range(0, 40, 1 + n % 3), offset=100 * n) for n in range(12)]
        found = [v for each in pool.map(lambda b: store.commit(b, sums), batches) for v in each]
    assert (found.count(COUNTED), set(found)) == (40, {COUNTED, SPENT})
    assert counted(store) == {EPOCH: (40, [40])}
    assert (ids_kept(database), rows(database, "vouchers")) == (40, 40)


def test_two_workers_that_redeem_one_voucher_count_one_report(
    store: AnyStore, database: Database
) -> None:
    with closing(database.open()) as other, ThreadPoolExecutor(2) as pool:
        for person in range(20):
            ours = pool.submit(store.commit, vouched([person]), sums)
            theirs = pool.submit(other.commit, vouched([person], offset=1_000), sums)
            assert sorted([*ours.result(), *theirs.result()]) == [COUNTED, SPENT]
    assert ids_kept(database) == rows(database, "vouchers") == 20


people = st.tuples(st.integers(0, 5), st.none() | st.integers(0, 3))


@given(st.lists(people, max_size=12), st.sets(st.integers(0, 3)))
def test_every_serial_has_exactly_one_report_or_was_spent_before(
    wanted: list[tuple[int, int | None]], spent: set[int]
) -> None:
    """The rule itself, against every batch: `new` holds the first place of each id."""
    batch: list[AcceptedReport] = [arrival(number, voucher=voucher) for number, voucher in wanted]
    new: dict[ScopedId, int] = {}
    for place, each in enumerate(batch):
        new.setdefault((1, EPOCH, each.report_id), place)
    known = {(1, EPOCH, each.serial) for each in (arrival(0, voucher=v) for v in spent)}
    refused = find_spent(batch, new, lambda keys: [key for key in keys if key not in known])
    kept = [batch[place].serial for key, place in new.items() if key not in refused]
    serials = [serial for serial in kept if serial is not None]
    assert len(serials) == len(set(serials))
    assert not {(1, EPOCH, serial) for serial in serials} & known
    carried = {batch[place].serial for place in new.values()} - {None}
    assert carried == {*serials, *(serial for _, _, serial in known if serial in carried)}
