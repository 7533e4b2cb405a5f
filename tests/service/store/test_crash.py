"""Killed between any two statements: a batch is counted whole or not at all, and a retry once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from deniable_aggregator.store.rows import (
    AcceptedReport,
    BlockId,
    CommitStatus,
    KeyListRow,
    PartialTally,
)
from support.builders import databases
from support.builders.databases import KINDS, AnyStore, Database
from support.builders.ledgers import admitted, charge_row, result_row
from support.builders.store_reports import (
    COLLECTION,
    EPOCH,
    arrival,
    arrivals,
    counted,
    ids_kept,
    manifest_row,
    rows,
    sums,
    vouched,
)
from support.doubles.kill_switch import Killed, KillSwitch
from support.tiers import by_tier

STEP = by_tier(5, 1)
pytestmark = pytest.mark.deeper

Action = Callable[[AnyStore], object]
EveryKill = Callable[[Action], Iterator[tuple[Database, bool]]]

COUNTED, DUPLICATE, SPENT = CommitStatus.COUNTED, CommitStatus.DUPLICATE, CommitStatus.SPENT
LATER = EPOCH + 2
BEFORE = arrivals(range(5), bytes(5_000))
BATCH = [*arrivals(range(3, 12), b"\x01" * 5_000), arrival(1, b"\x01" * 5_000, epoch=EPOCH + 1)]


@pytest.fixture(params=KINDS)
def every_kill(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EveryKill]:
    """Runs an action on a database for each of its statements, killed before that statement.

    By default for every fifth. The last one lives to the end. Gives what is left on disk, and
    whether it was killed.
    """
    made: list[Database] = []

    def run(action: Action) -> Iterator[tuple[Database, bool]]:
        for statement in count(step=STEP):
            made.append(databases.fresh(request.param, tmp_path))
            left, killed = killed_at(statement, made[-1], action)
            yield left, killed
            if not killed:
                assert statement > 2
                return

    yield run
    for each in made:
        each.delete()


def killed_at(statement: int, database: Database, action: Action) -> tuple[Database, bool]:
    """What is on disk after a kill before that statement of `action`; False if it ended before."""
    switch = KillSwitch()
    store = database.open(switch)
    store.commit(BEFORE, sums)
    switch.arm(statement)
    try:
        action(store)
        alive = True
    except Killed:
        alive = False
    left = database.left_behind()
    switch.arm(None)
    store.close()
    return left, not alive


@pytest.mark.slow
def test_a_commit_that_is_killed_counts_everything_or_nothing(every_kill: EveryKill) -> None:
    for left, killed in every_kill(lambda store: store.commit(BATCH, sums)):
        store = left.open()
        found = counted(store)
        store.close()
        untouched = found == {EPOCH: (5, [0] * 5_000)} and ids_kept(left) == 5
        whole = found[EPOCH][0] == 12 and found[EPOCH][1] == [7] * 5_000 and ids_kept(left) == 13
        assert untouched if killed else whole


@pytest.mark.slow
def test_a_retry_after_any_kill_counts_every_report_once(every_kill: EveryKill) -> None:
    for left, _ in every_kill(lambda store: store.commit(BATCH, sums)):
        store = left.open()
        store.commit(BATCH, sums)
        found = counted(store)
        store.close()
        assert found == {EPOCH: (12, [7] * 5_000), EPOCH + 1: (1, [1] * 5_000)}


@pytest.fixture
def redeemed() -> list[AcceptedReport]:
    """Six people in one batch, of whom the last two bring what the first two have brought."""
    return [*vouched(range(20, 24), epoch=LATER), *vouched([20, 21], offset=100, epoch=LATER)]


def test_a_kill_leaves_ids_and_vouchers_together(
    every_kill: EveryKill, redeemed: list[AcceptedReport]
) -> None:
    for left, killed in every_kill(lambda store: store.commit(redeemed, sums)):
        assert (ids_kept(left), rows(left, "vouchers")) == ((5, 0) if killed else (9, 4))


@pytest.mark.slow
def test_after_any_kill_each_voucher_counts_one_report(
    every_kill: EveryKill, redeemed: list[AcceptedReport]
) -> None:
    for left, killed in every_kill(lambda store: store.commit(redeemed, sums)):
        store = left.open()
        others = store.commit(vouched(range(20, 24), offset=200, epoch=LATER), sums)
        verdicts = store.commit(redeemed, sums)
        store.close()
        expected = (COUNTED, SPENT) if killed else (SPENT, DUPLICATE)
        assert (set(others), verdicts[0]) == ({expected[0]}, expected[1])
        assert (ids_kept(left), rows(left, "vouchers")) == (9, 4)


@pytest.mark.slow
def test_a_block_and_its_mark_appear_together_and_a_retry_counts_it_once(
    every_kill: EveryKill,
) -> None:
    block, part = BlockId("job", "a.block"), BATCH[:-1]
    payloads = np.full((9, 5_000), 1, np.uint8)
    parts = [
        PartialTally(
            part[0].key, [each.report_id for each in part], payloads, sums(part[0].key, payloads)
        )
    ]
    for left, killed in every_kill(lambda store: store.commit_blocks([(block, parts)], sums)):
        assert rows(left, "counted_blocks") == (0 if killed else 1)
        assert ids_kept(left) == (5 if killed else 12)
        store = left.open()
        [again] = store.commit_blocks([(block, parts)], sums)
        found = counted(store)
        store.close()
        assert (again is not None) == killed
        assert found == {EPOCH: (12, [7] * 5_000)}


def test_a_closing_that_is_killed_closed_and_deleted_or_did_neither(every_kill: EveryKill) -> None:
    for left, killed in every_kill(
        lambda store: store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    ):
        assert (rows(left, "closed_epochs"), ids_kept(left)) == ((0, 5) if killed else (1, 0))


def test_a_manifest_and_its_log_entry_appear_together(every_kill: EveryKill) -> None:
    row = manifest_row("other-aaaaaa")
    for left, killed in every_kill(lambda store: store.add_manifest(row, audit=None)):
        found = [rows(left, table) for table in ("manifests", "log", "collections")]
        assert found == ([1, 1, 1] if killed else [2, 2, 2])


def test_a_key_list_and_its_log_entry_appear_together(every_kill: EveryKill) -> None:
    row = KeyListRow(1, 0, 1, bytes(32), b"{}")
    for left, killed in every_kill(lambda store: store.add_key_list(row, log_size=1, audit=None)):
        found = [rows(left, table) for table in ("key_lists", "log")]
        assert found == ([0, 1] if killed else [1, 2])


def test_a_charge_is_there_whole_or_not_at_all(every_kill: EveryKill) -> None:
    for left, killed in every_kill(lambda store: store.charge(charge_row(1), admitted, audit=None)):
        store = left.open()
        found = store.charges(COLLECTION)
        store.close()
        assert found == ([] if killed else [charge_row(1)])


def test_a_result_has_its_log_entry_its_record_and_an_earlier_charge(
    every_kill: EveryKill,
) -> None:
    def released(store: AnyStore) -> None:
        store.charge(charge_row(1), admitted, audit=None)
        store.store_result(result_row(1), b"zero")

    for left, killed in every_kill(released):
        charged, *shown = [
            rows(left, table) for table in ("charges", "results", "session_records", "log")
        ]
        assert shown == ([0, 0, 1] if killed else [1, 1, 2])
        assert charged >= shown[0]


def test_an_interrupt_inside_a_commit_rolls_it_back_and_the_store_goes_on(
    store: AnyStore,
) -> None:
    def interrupted(cell: object, payloads: object) -> np.ndarray:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.commit(arrivals(range(5)), interrupted)
    store.commit(arrivals(range(5)), sums)
    assert counted(store) == {EPOCH: (5, [5])}
