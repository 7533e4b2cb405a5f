"""What only PostgreSQL has: deltas and their roll-up, a leader, connections that are lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg_pool import PoolTimeout

from deniable_aggregator.base.errors import StoreError, StoreUnavailableError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.doctor import checkup
from deniable_aggregator.store.postgres import rollup
from deniable_aggregator.store.postgres.pool import (
    BEGIN_READING,
    WAIT_SECONDS,
    Lock,
    PostgresPool,
    connect,
)
from deniable_aggregator.store.postgres.store import PostgresStore
from deniable_aggregator.store.rows import CommitStatus
from deniable_client.transport import HttpTransport
from support.builders import databases
from support.builders.databases import COLLECTION, Postgres, register
from support.builders.ledgers import admitted, charge_row, result_row
from support.builders.store_reports import EPOCH, arrival, arrivals, counted, rows, sums
from support.processes import postgres_server
from support.processes.deniable_command import wait_until

pytestmark = pytest.mark.slow

PATIENCE = 60.0


@pytest.fixture
def server_database(tmp_path: Path) -> Iterator[Postgres]:
    """A migrated database with one collection."""
    made = databases.fresh("postgres", tmp_path)
    assert isinstance(made, Postgres)
    yield made
    made.delete()


@pytest.fixture
def first(server_database: Postgres) -> Iterator[PostgresStore]:
    """A store over it."""
    with closing(server_database.open()) as store:
        yield store


@pytest.fixture
def second(server_database: Postgres) -> Iterator[PostgresStore]:
    """Another one, as another process has it."""
    with closing(server_database.open()) as store:
        yield store


def test_a_commit_appends_and_the_roll_up_folds(
    first: PostgresStore, server_database: Postgres
) -> None:
    for number in range(3):
        first.commit([arrival(number)], sums)
    assert [rows(server_database, table) for table in ("deltas", "pages")] == [3, 0]
    before = counted(first)
    assert first.roll_up() == 0
    assert [rows(server_database, table) for table in ("deltas", "pages")] == [0, 1]
    assert counted(first) == before == {EPOCH: (3, [3])}


def test_the_roll_up_takes_slices_of_so_many_and_of_so_many_bytes(
    first: PostgresStore, server_database: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollup, "FOLD_DELTAS", 3)
    monkeypatch.setattr(rollup, "FOLD_BYTES", 20)
    for number in range(4):
        first.commit([arrival(number, bytes([1] * 2))], sums)
    with first._connections.begin() as db:
        assert rollup.fold(db) == 2
    assert rows(server_database, "deltas") == 2
    assert counted(first) == {EPOCH: (4, [4, 4])}
    assert first.roll_up() == 0
    assert counted(first) == {EPOCH: (4, [4, 4])}


def test_a_delta_larger_than_a_slice_is_folded_by_itself(
    first: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollup, "FOLD_BYTES", 1)
    first.commit([arrival(1, bytes([1] * 50))], sums)
    assert first.roll_up() == 0


def test_where_another_process_folds_the_lag_is_told(
    first: PostgresStore, second: PostgresStore
) -> None:
    first.commit([arrival(1)], sums)
    with second._connections.begin() as db:
        db.lock(Lock.FOLD)
        assert first.roll_up() == 1
    assert first.roll_up() == 0


def test_what_is_not_committed_is_folded_another_time(
    first: PostgresStore, second: PostgresStore
) -> None:
    started, go = threading.Event(), threading.Event()

    def slow(cell: object, payloads: np.ndarray) -> np.ndarray:
        started.set()
        go.wait(PATIENCE)
        return np.asarray(payloads.sum(axis=0, dtype=np.int64))

    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(first.commit, [arrival(1)], slow)
        assert started.wait(PATIENCE)
        second.commit([arrival(2)], sums)
        assert second.roll_up() == 0
        assert counted(second) == {EPOCH: (1, [1])}
        go.set()
        assert late.result() == [CommitStatus.COUNTED]
    assert second.roll_up() == 0
    assert counted(second) == {EPOCH: (2, [2])}


def test_closing_waits_for_a_commit_under_way_and_folds_it(
    first: PostgresStore, second: PostgresStore, server_database: Postgres
) -> None:
    started, go = threading.Event(), threading.Event()

    def slow(cell: object, payloads: np.ndarray) -> np.ndarray:
        started.set()
        go.wait(PATIENCE)
        return np.asarray(payloads.sum(axis=0, dtype=np.int64))

    with ThreadPoolExecutor(3) as pool:
        counted_late = pool.submit(first.commit, [arrival(1)], slow)
        assert started.wait(PATIENCE)
        closing_it = pool.submit(second.close_epoch, COLLECTION, EPOCH, 0, audit=None)
        await_waiting(server_database)
        refused = pool.submit(second.commit, [arrival(2)], sums)
        go.set()
        assert counted_late.result() == [CommitStatus.COUNTED]
        assert closing_it.result()
        assert refused.result() == [CommitStatus.CLOSED]
    assert counted(first) == {EPOCH: (1, [1])}
    assert rows(server_database, "deltas") == 0


def await_waiting(database: Postgres) -> None:
    """Wait until a process waits for a lock."""
    asked = "select 1 from pg_locks where not granted and locktype = 'advisory'"
    while not database.execute(asked):
        pass


def test_the_same_id_from_two_stores_at_once_is_counted_by_one_of_them(
    first: PostgresStore, second: PostgresStore
) -> None:
    batches = [arrivals(range(n, n + 40)) for n in range(0, 60, 3)]
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(
                lambda job: job[0].commit(job[1], sums),
                [(store, batch) for batch in batches for store in (first, second)],
            )
        )
    verdicts = [verdict for some in found for verdict in some]
    assert verdicts.count(CommitStatus.COUNTED) == 97
    assert counted(first) == counted(second) == {EPOCH: (97, [97])}


def test_batches_in_opposite_orders_do_not_wait_in_a_circle(
    first: PostgresStore, second: PostgresStore
) -> None:
    batch = [arrival(n, epoch=EPOCH + n % 5, version=1 + n % 3) for n in range(60)]
    with ThreadPoolExecutor(4) as pool:
        jobs = [(first, batch), (second, batch[::-1])] * 10
        found = list(pool.map(lambda job: job[0].commit(job[1], sums), jobs))
    assert sum(some.count(CommitStatus.COUNTED) for some in found) == 60


def test_a_collection_that_another_process_registers_is_found(
    first: PostgresStore, second: PostgresStore
) -> None:
    register(first, "other-aaaaaa")
    assert second.commit([arrival(1, collection="other-aaaaaa")], sums) == [CommitStatus.COUNTED]


def test_a_cell_that_was_rolled_back_is_not_remembered(first: PostgresStore) -> None:
    def broken(cell: object, payloads: np.ndarray) -> np.ndarray:
        if len(payloads) == 1:
            raise ZeroDivisionError
        return np.asarray(payloads.sum(axis=0, dtype=np.int64))

    batch = [*arrivals([1, 2]), arrival(3, epoch=EPOCH + 1)]
    with pytest.raises(ZeroDivisionError):
        first.commit(batch, broken)
    assert first.commit(batch, sums) == [CommitStatus.COUNTED] * 3
    assert counted(first) == {EPOCH: (2, [2]), EPOCH + 1: (1, [1])}


def test_one_of_two_leads_until_it_is_gone(server_database: Postgres) -> None:
    with closing(server_database.open()) as second:
        with closing(server_database.open()) as first:
            assert first.try_lead()
            assert not second.try_lead()
            assert first.try_lead()
        wait_until("the server has seen it go", second.try_lead)


def test_a_leader_that_is_killed_is_followed_by_another(
    first: PostgresStore, second: PostgresStore, server_database: Postgres
) -> None:
    assert first.try_lead()
    cut_off(server_database)
    assert second.try_lead()
    with pytest.raises(StoreError, match="refuses"):
        first.try_lead()
    assert not first.try_lead()


def cut_off(database: Postgres) -> None:
    """End every connection, as a restart of the server does, and wait until they are gone."""
    with psycopg.connect(database.address, autocommit=True) as connection:
        connection.execute(
            b"select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            b" where datname = current_database() and pid <> pg_backend_pid()"
        )


def test_a_store_goes_on_after_all_its_connections_were_lost(
    first: PostgresStore, server_database: Postgres
) -> None:
    first.commit([arrival(1)], sums)
    for _ in range(2):
        cut_off(server_database)
        assert first.commit([arrival(1)], sums) == [CommitStatus.DUPLICATE]
    assert first.log_head()[0] == 1


def test_a_commit_that_lost_its_connection_may_be_repeated(
    first: PostgresStore, server_database: Postgres
) -> None:
    def cutting(cell: object, payloads: np.ndarray) -> np.ndarray:
        cut_off(server_database)
        return np.asarray(payloads.sum(axis=0, dtype=np.int64))

    with pytest.raises(StoreError, match="the database refuses"):
        first.commit(arrivals(range(5)), cutting)
    assert counted(first) == {}
    assert first.commit(arrivals(range(5)), sums) == [CommitStatus.COUNTED] * 5


def test_no_commit_is_told_before_it_is_on_disk(server_database: Postgres) -> None:
    name = server_database.address.rpartition("?")[0].rpartition("/")[2]
    server_database.execute(f"alter database {name} set synchronous_commit = off")
    with closing(server_database.open()) as store, store._connections.begin() as db:
        [[setting]] = db.execute("show synchronous_commit").fetchall()
        assert setting == "on"


def test_a_stricter_synchronous_commit_is_left_alone(server_database: Postgres) -> None:
    name = server_database.address.rpartition("?")[0].rpartition("/")[2]
    server_database.execute(f"alter database {name} set synchronous_commit = remote_apply")
    with closing(server_database.open()) as store, store._connections.begin() as db:
        [[setting]] = db.execute("show synchronous_commit").fetchall()
        assert setting == "remote_apply"


def test_nothing_append_only_is_emptied(first: PostgresStore, server_database: Postgres) -> None:
    first.charge(charge_row(1), admitted, audit=None)
    first.store_result(result_row(1), b"zero")
    for table in ("charges", "closed_epochs", "key_lists", "log", "manifests", "session_records"):
        with server_database.refusing("append-only|stays closed"):
            server_database.execute(f"truncate {table} cascade")


def test_sql_itself_refuses_a_delta_of_a_closed_epoch(
    first: PostgresStore, server_database: Postgres
) -> None:
    first.commit([arrival(1)], sums)
    first.close_epoch(COLLECTION, EPOCH, 0, audit=None)
    with server_database.refusing("frozen"):
        server_database.execute("insert into deltas (cell, n, counts) values (1, 1, '')")


def test_an_error_shows_no_row(first: PostgresStore) -> None:
    first.charge(charge_row(1), admitted, audit=None)
    with pytest.raises(StoreError) as caught:
        register(first, COLLECTION)
    assert not isinstance(caught.value, StoreUnavailableError)
    assert COLLECTION not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_server_that_is_not_there_is_told_in_one_line() -> None:
    with pytest.raises(StoreUnavailableError, match="the database refuses: connection") as caught:
        PostgresStore("postgresql://nobody:secret@127.0.0.1:1/nothing")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_upload_without_a_connection_is_answered_before_devices_hang_up() -> None:
    devices_wait = signature(HttpTransport.request).parameters["timeout"].default
    assert devices_wait > WAIT_SECONDS


def test_after_a_wait_in_vain_the_next_callers_wait_shortly_until_one_gets_a_connection(
    server_database: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uploads wait one after the other: each that waits long makes the next ones late."""
    with closing(PostgresPool(server_database.address)) as pool:
        waits: list[float] = []
        usual, away = pool._pool.getconn, [True]

        def getconn(seconds: float) -> psycopg.Connection[Any]:
            waits.append(seconds)
            if away[0]:
                raise PoolTimeout("no connection")
            return usual(seconds)

        def asked(seconds: float | None = None) -> None:
            with pool.begin(BEGIN_READING, seconds):
                pass

        monkeypatch.setattr(pool._pool, "getconn", getconn)
        for seconds in (0.1, None, None, 0.1, None):  # a short wait in vain says little
            with pytest.raises(StoreUnavailableError):
                asked(seconds)
        away[0] = False
        asked()
        asked()
    assert waits == [0.1, 8.0, 0.5, 0.1, 0.5, 0.5, 8.0]


def test_an_older_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from deniable_aggregator.store.postgres import schema

    monkeypatch.setattr(schema, "LEAST_POSTGRES", 99)
    address = postgres_server.empty()
    with pytest.raises(StoreError, match="PostgreSQL must be 99 or newer, this is 18"):
        PostgresStore(address)
    postgres_server.drop(address)


@given(st.lists(st.integers(0, 2**40) | st.just(0), min_size=1, max_size=60))
def test_a_delta_comes_back_as_it_was_in_the_shorter_of_two_spellings(tally: list[int]) -> None:
    places, counts = rollup.encode_delta(np.array(tally, dtype=np.int64))
    total = np.zeros(len(tally), np.int64)
    rollup.add_delta(total, places, counts)
    assert total.tolist() == tally
    assert len(places or b"") + len(counts) <= 8 * len(tally)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_reload_that_switches_synchronous_commit_off_changes_no_session(tmp_path: Path) -> None:
    with postgres_server.restartable() as server:
        address = server.get_uri()
        with closing(PostgresStore(address)) as store:
            postgres_server.execute(address, "alter system set synchronous_commit = off")
            postgres_server.execute(address, "select pg_reload_conf()")
            wait_until("the reload", lambda: shown(address) == "off")
            with store._connections.read() as db:
                [[setting]] = db.execute("show synchronous_commit").fetchall()
            assert setting == "on"
            with closing(connect(address)) as another:
                assert another.execute("show synchronous_commit").fetchall() == [("on",)]
        [check, _] = checkup.of_postgres(Settings(data=tmp_path, store=address))
        assert check.level == "warn"
        assert "synchronous_commit is off by default" in check.message


def shown(address: str) -> object:
    """As a session has it that sets nothing."""
    [[setting]] = postgres_server.execute(address, "show synchronous_commit")
    return setting
