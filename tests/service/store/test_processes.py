"""Several processes on one PostgreSQL database: each id counts once after any kill."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deniable_aggregator.store.rows import CommitStatus
from support.builders import databases
from support.builders.databases import COLLECTION, Database
from support.builders.store_reports import EPOCH, arrivals, counted, ids_kept, rows, sums
from support.processes.store_worker import begin, start
from support.tiers import by_tier

pytestmark = pytest.mark.processes

SIZE = 5


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Database]:
    """A migrated database with one collection."""
    made = databases.fresh("postgres", tmp_path)
    yield made
    made.delete()


def told(worker: subprocess.Popen[str]) -> list[tuple[int, int]]:
    """(counted, first number) of each commit that it has reported; waits for its end."""
    with worker:
        assert worker.stdout is not None
        lines = [line.split() for line in worker.stdout if line.endswith("\n")]
    return [(int(n), int(first)) for n, first in lines]


@pytest.mark.deeper
def test_processes_that_commit_the_same_ids_count_each_once(shared: Database) -> None:
    workers = [start(shared, first, 300, SIZE) for first in by_tier((0, 2), (0, 0, 2))]
    for worker in workers:
        begin(worker)
    total = sum(n for worker in workers for n, _ in told(worker))
    with closing(shared.open()) as store:
        assert counted(store) == {EPOCH: (total, [total])}
    assert total == ids_kept(shared) == 302


@pytest.mark.exhaustive
def test_processes_that_redeem_the_same_vouchers_count_each_once(shared: Database) -> None:
    workers = [start(shared, 0, 300, SIZE, offset=offset) for offset in (0, 1_000, 2_000)]
    for worker in workers:
        begin(worker)
    total = sum(n for worker in workers for n, _ in told(worker))
    with closing(shared.open()) as store:
        assert counted(store) == {EPOCH: (total, [total])}
    assert total == ids_kept(shared) == rows(shared, "vouchers") == 300


@pytest.mark.exhaustive
def test_acknowledged_reports_of_a_killed_process_count_once(
    shared: Database,
) -> None:
    workers = [start(shared, 0, 10**6, SIZE) for _ in range(2)]
    for worker in workers:
        begin(worker)
    acknowledged: set[int] = set()
    for worker, lines in zip(workers, (40, 15), strict=True):
        assert worker.stdout is not None
        acknowledged |= {int(worker.stdout.readline().split()[1]) for _ in range(lines)}
        worker.kill()
    acknowledged |= {first for worker in workers for _, first in told(worker)}
    with closing(shared.open()) as store:
        n, tally = counted(store)[EPOCH]
        assert n == tally[0] == ids_kept(shared)
        assert n >= 40 * SIZE
        again = store.commit(arrivals(range(max(acknowledged) + SIZE)), sums)
        assert set(again) <= {CommitStatus.DUPLICATE, CommitStatus.COUNTED}
        assert all(
            again[number] is CommitStatus.DUPLICATE
            for first in acknowledged
            for number in range(first, first + SIZE)
        )
        assert counted(store)[EPOCH][0] == ids_kept(shared)


@pytest.mark.exhaustive
def test_reports_during_a_closing_are_counted_or_refused(
    shared: Database,
) -> None:
    workers = [start(shared, 1_000 * place, 1_000 * place + 400, SIZE) for place in range(2)]
    for worker in workers:
        begin(worker)
    with closing(shared.open()) as store:
        assert workers[0].stdout is not None
        workers[0].stdout.readline()
        store.roll_up()
        store.close_epoch(COLLECTION, EPOCH, 0, audit=None)
        n = store.epochs(COLLECTION)[0].n
        total = SIZE + sum(counted for worker in workers for counted, _ in told(worker))
        store.roll_up()
        assert n == total == store.epochs(COLLECTION)[0].n
    assert ids_kept(shared) == 0
