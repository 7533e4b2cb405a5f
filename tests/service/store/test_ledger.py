"""The ledger in the store: a charge is decided and written at once, and nothing is taken back."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store import ledger_rows
from deniable_aggregator.store.rows import ChargeRow, ResultRow
from deniable_shared.wire.transparency_log import LogEntry
from support.builders.databases import KINDS, AnyStore, Database
from support.builders.ledgers import Budget, Spent, admitted, charge_row, result_row, spent
from support.builders.store_reports import COLLECTION, EPOCH, register, rows
from support.processes import ledger_spender
from support.tiers import grid

TESTS = Path(__file__).parents[2]


def test_a_charge_comes_back_exactly_as_it_was_made(store: AnyStore) -> None:
    made = ChargeRow(
        COLLECTION,
        "ab" * 8,
        b"\1" * 32,
        b"{}",
        (1, 2, 3, 7),
        None,
        "1/3",
        "1/1000000",
        "replace",
        9,
    )
    assert store.charge(made, admitted, audit=None) == made
    assert store.charges(COLLECTION) == [made]
    assert store.charge_for(COLLECTION, made.request) == made
    assert store.charge_for(COLLECTION, b"\2" * 32) is None


def test_the_decision_sees_every_charge_of_this_collection_oldest_first(
    store: AnyStore,
) -> None:
    register(store, "other-aaaaaa")
    store.charge(charge_row(1, collection="other-aaaaaa"), admitted, audit=None)
    seen: list[Sequence[ChargeRow]] = []
    for number in (2, 3, 4):
        store.charge(charge_row(number), seen.append, audit=None)
    assert seen == [[], [charge_row(2)], [charge_row(2), charge_row(3)]]


def test_what_the_decision_raises_is_raised_and_nothing_is_charged(store: AnyStore) -> None:
    with pytest.raises(Spent):
        store.charge(charge_row(1), Budget("0.05"), audit=None)
    assert store.charges(COLLECTION) == []
    assert store.charge(charge_row(1), Budget("0.1"), audit=None) == charge_row(1)


def test_the_same_request_is_charged_once_and_not_decided_again(store: AnyStore) -> None:
    first = store.charge(charge_row(1), admitted, audit=None)
    again = charge_row(2)
    same = ChargeRow(COLLECTION, again.release, first.request, b"{}", *_rest(again))
    assert store.charge(same, Budget("0"), audit=None) == first
    assert store.charges(COLLECTION) == [first]


def _rest(row: ChargeRow) -> tuple[tuple[int, ...], str | None, str | None, str, str, int]:
    return row.epochs, row.epsilon, row.rho, row.delta, row.adjacency, row.created


def test_the_same_request_of_another_collection_is_another_charge(store: AnyStore) -> None:
    register(store, "other-aaaaaa")
    store.charge(charge_row(1), admitted, audit=None)
    other = charge_row(2, collection="other-aaaaaa")
    same = ChargeRow(other.collection, other.release, charge_row(1).request, b"{}", *_rest(other))
    assert store.charge(same, admitted, audit=None) == same


def test_a_charge_needs_a_collection(store: AnyStore) -> None:
    with pytest.raises(StoreError, match="no manifest"):
        store.charge(charge_row(1, collection="nothing"), admitted, audit=None)


def test_fifty_threads_get_no_more_than_the_rest_of_a_budget(
    store: AnyStore,
) -> None:
    def ask(number: int) -> bool:
        with suppress(Spent):
            store.charge(charge_row(number), Budget("1"), audit=None)
            return True
        return False

    with ThreadPoolExecutor(50) as pool:
        granted = list(pool.map(ask, range(50)))
    assert sum(granted) == 10
    assert spent(store.charges(COLLECTION)) == 1


def test_fifty_threads_with_one_request_make_one_charge(store: AnyStore) -> None:
    with ThreadPoolExecutor(50) as pool:
        answers = set(
            pool.map(lambda _: store.charge(charge_row(1), admitted, audit=None).release, range(50))
        )
    assert answers == {charge_row(1).release}
    assert len(store.charges(COLLECTION)) == 1


@pytest.mark.slow
def test_a_decision_waits_for_the_one_that_another_process_is_at(
    store: AnyStore, database: Database
) -> None:
    """Another store over the same database is to the database what another process is."""
    other, deciding, seen = database.open(), threading.Event(), []

    def second(rows: Sequence[ChargeRow]) -> None:
        deciding.set()
        seen.append(list(rows))

    later = threading.Thread(target=lambda: other.charge(charge_row(2), second, audit=None))

    def first(rows: Sequence[ChargeRow]) -> None:
        later.start()
        assert not deciding.wait(0.3)

    store.charge(charge_row(1), first, audit=None)
    later.join()
    other.close()
    assert seen == [[charge_row(1)]]


@pytest.mark.processes
@pytest.mark.parametrize("database", grid(KINDS, by_default=["postgres"]), indirect=True)
def test_two_processes_get_no_more_than_the_rest_of_a_budget(
    store: AnyStore, database: Database
) -> None:
    spenders = [_spender(database, first) for first in (100, 200)]
    for spender in spenders:
        assert spender.stdout is not None
        assert spender.stdout.readline() == "ready\n"
    granted = [line for result in _let_go(spenders) for line in result.split()]
    assert len(granted) == 30
    assert spent(store.charges(COLLECTION)) == 3
    assert {charge_row(int(number)).release for number in granted} == {
        row.release for row in store.charges(COLLECTION)
    }


def _spender(database: Database, first: int) -> subprocess.Popen[str]:
    run = [sys.executable, ledger_spender.__file__, database.address, str(first), "40", "3"]
    return subprocess.Popen(
        run,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": str(TESTS), "PATH": ""},
    )


def _let_go(spenders: list[subprocess.Popen[str]]) -> list[str]:
    for spender in spenders:
        assert spender.stdin is not None
        spender.stdin.write("\n")
        spender.stdin.flush()
    return [spender.communicate(timeout=120)[0] for spender in spenders]


def test_a_result_and_its_salted_log_entry_are_kept_together(store: AnyStore) -> None:
    store.charge(charge_row(1), admitted, audit=None)
    row = result_row(1)
    kept = store.store_result(row)
    assert kept == ResultRow(row.release, row.salt, row.document, position=2)
    assert store.log(1) == [LogEntry("release", sha256(row.salt + row.document).digest())]
    assert store.result(row.release) == kept
    assert store.results(COLLECTION) == [kept]


def test_the_first_result_stays_and_the_second_leaves_no_trace(store: AnyStore) -> None:
    store.charge(charge_row(1), admitted, audit=None)
    first = store.store_result(result_row(1), b"zero")
    assert store.store_result(result_row(1, b"another draw"), b"another") == first
    assert store.log_head()[0] == 2
    assert store.records(first.release) == [b"zero"]


def test_fifty_threads_that_drew_show_one_result(store: AnyStore) -> None:
    store.charge(charge_row(1), admitted, audit=None)
    with ThreadPoolExecutor(50) as pool:
        shown = set(
            pool.map(lambda n: store.store_result(result_row(1, b"%d" % n)).document, range(50))
        )
    assert len(shown) == 1
    assert store.log_head()[0] == 2


def test_a_result_without_a_charge_is_refused(store: AnyStore) -> None:
    with pytest.raises(StoreError, match=r"(?i)foreign key"):
        store.store_result(result_row(1))
    assert store.log_head()[0] == 1


def test_results_are_those_of_the_collection_in_the_order_of_the_log(store: AnyStore) -> None:
    register(store, "other-aaaaaa")
    store.charge(charge_row(9, collection="other-aaaaaa"), admitted, audit=None)
    for number in (1, 2):
        store.charge(charge_row(number), admitted, audit=None)
    kept = [store.store_result(result_row(number)) for number in (2, 9, 1)]
    assert store.results(COLLECTION) == [kept[0], kept[2]]
    assert store.results("other-aaaaaa") == [kept[1]]


def test_records_are_numbered_without_a_gap_and_each_number_is_kept_once(
    store: AnyStore,
) -> None:
    release = store.charge(charge_row(1), admitted, audit=None).release
    assert not store.add_record(release, 1, b"one", audit=None)
    assert store.add_record(release, 0, b"zero", audit=None)
    assert not store.add_record(release, 0, b"again", audit=None)
    assert store.add_record(release, 1, b"one", audit=None)
    assert store.records(release) == [b"zero", b"one"]
    assert store.records(release, 1) == [b"one"]
    assert store.records("none") == []


def test_fifty_threads_that_keep_the_same_number_keep_one_record(store: AnyStore) -> None:
    release = store.charge(charge_row(1), admitted, audit=None).release
    with ThreadPoolExecutor(50) as pool:
        kept = list(
            pool.map(lambda n: store.add_record(release, 0, b"%d" % n, audit=None), range(50))
        )
    assert sum(kept) == 1
    assert store.records(release) == [b"%d" % kept.index(True)]


def test_sql_itself_refuses_to_change_the_ledger(store: AnyStore, database: Database) -> None:
    store.charge(charge_row(1), admitted, audit=None)
    store.store_result(result_row(1), b"zero")
    for table in ("charges", "results", "session_records"):
        for change in (f"delete from {table}", f"update {table} set release = 'another'"):  # noqa: S608  (the names in it are fixed)
            with database.refusing("append-only"):
                database.execute(change)
        assert rows(database, table) == 1


def test_sql_itself_refuses_a_gap_in_a_session(store: AnyStore, database: Database) -> None:
    release = store.charge(charge_row(1), admitted, audit=None).release
    with database.refusing("append-only"):
        database.execute(f"insert into session_records values ('{release}', 3, x'00', 0)")  # noqa: S608  (the names in it are fixed)


def test_what_was_kept_is_there_after_a_restart(database: Database) -> None:
    store = database.open()
    store.charge(charge_row(1, epochs=(EPOCH, EPOCH + 2)), admitted, audit=None)
    kept = store.store_result(result_row(1), b"zero")
    store.close()
    again = database.open()
    assert again.charges(COLLECTION) == [charge_row(1, epochs=(EPOCH, EPOCH + 2))]
    assert (again.result(kept.release), again.records(kept.release)) == (kept, [b"zero"])
    again.close()


@given(st.sets(st.integers(0, 2**32 - 1) | st.integers(0, 30), min_size=1, max_size=40))
def test_epochs_are_written_as_runs_and_read_back(epochs: set[int]) -> None:
    ascending = tuple(sorted(epochs))
    text = ledger_rows.format_epochs(ascending)
    assert tuple(ledger_rows.parse_epochs(text)) == ascending
    runs = text.split(",")
    assert len(runs) == 1 + sum(b - a > 1 for a, b in pairwise(ascending))
