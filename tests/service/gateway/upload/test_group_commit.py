"""Group commit: one transaction for all that wait, durable before anyone returns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.store.rows import AcceptedReport, CommitStatus, TallyKernel
from deniable_gateway.problem import Problem
from deniable_gateway.upload import group_commit
from deniable_gateway.upload.group_commit import BatchWindow, GroupCommit
from support.builders.databases import AnyStore
from support.builders.store_reports import EPOCH, arrival, arrivals, counted, sums

COUNTED, DUPLICATE = CommitStatus.COUNTED, CommitStatus.DUPLICATE
LONG = 60.0


@dataclass
class Gate:
    """A real store whose commits wait until they are let through, and may fail instead."""

    store: AnyStore
    batches: list[int] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    through: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def commit(self, arrivals: Sequence[AcceptedReport], tally: TallyKernel) -> list[CommitStatus]:
        self.batches.append(len(arrivals))
        self.arrived.release()
        assert self.through.acquire(timeout=LONG)
        if self.failures:
            raise self.failures.pop()
        return self.store.commit(arrivals, tally)


@dataclass
class Queue:
    """A group commit over a gate, and threads that submit to it in a known order."""

    gate: Gate
    commits: GroupCommit[AcceptedReport, CommitStatus]
    pool: ThreadPoolExecutor

    def submit(self, *batches: Sequence[AcceptedReport]) -> list[Future[list[CommitStatus]]]:
        return [self._one(batch) for batch in batches]

    def _one(self, batch: Sequence[AcceptedReport]) -> Future[list[CommitStatus]]:
        before = self.size()
        future = self.pool.submit(self.commits.submit, batch)
        while not future.done() and self.size() == before:
            pass  # it queues within microseconds
        return future

    def size(self) -> tuple[int, int]:
        return len(self.commits._queue), len(self.gate.batches)


@pytest.fixture
def queue(store: AnyStore) -> Callable[..., Queue]:
    pools = []

    def make(**limits: Any) -> Queue:
        gate, pool = Gate(store), ThreadPoolExecutor(16)
        pools.append(pool)
        return Queue(gate, GroupCommit(partial(gate.commit, tally=sums), **limits), pool)

    return make


def test_one_submission_alone_is_one_commit(store: AnyStore) -> None:
    commits = GroupCommit(partial(store.commit, tally=sums))
    assert commits.submit(arrivals([1, 2, 2])) == [COUNTED, COUNTED, DUPLICATE]
    assert commits.submit([arrival(1)]) == [DUPLICATE]


def test_nothing_is_submitted_in_no_time(store: AnyStore) -> None:
    assert GroupCommit(partial(store.commit, tally=sums)).submit([]) == []


def test_all_that_wait_are_committed_together(queue: Callable[..., Queue]) -> None:
    waiting = queue()
    futures = waiting.submit([arrival(0)], arrivals([1, 2]), arrivals([3]), arrivals([1, 4, 5]))
    waiting.gate.through.release(2)
    verdicts = [future.result(LONG) for future in futures]
    assert waiting.gate.batches == [1, 6]
    assert verdicts == [[COUNTED], [COUNTED] * 2, [COUNTED], [DUPLICATE, COUNTED, COUNTED]]


def test_nobody_returns_before_the_commit(queue: Callable[..., Queue]) -> None:
    waiting = queue()
    futures = waiting.submit([arrival(0)], [arrival(1)], [arrival(2)])
    assert not any(future.done() for future in futures)
    waiting.gate.through.release()
    assert futures[0].result(LONG) == [COUNTED]
    assert waiting.gate.arrived.acquire(timeout=LONG)
    assert waiting.gate.arrived.acquire(timeout=LONG)
    assert not any(future.done() for future in futures[1:])
    waiting.gate.through.release()
    assert [future.result(LONG) for future in futures[1:]] == [[COUNTED]] * 2


def test_a_failing_commit_fails_those_in_it_and_nobody_else(
    queue: Callable[..., Queue], store: AnyStore
) -> None:
    waiting = queue()
    lost = waiting.submit([arrival(0)])
    kept = waiting.submit([arrival(1)], [arrival(2)])
    waiting.gate.failures.append(StoreError("the database refuses: disk full"))
    waiting.gate.through.release(2)
    problem = lost[0].exception(LONG)
    assert isinstance(problem, Problem)
    assert (problem.slug, problem.status) == ("unavailable", 503)
    assert isinstance(problem.__cause__, StoreError)
    assert [future.result(LONG) for future in kept] == [[COUNTED]] * 2
    assert counted(store) == {EPOCH: (2, [2])}


def test_a_failing_commit_fails_every_follower_in_it(queue: Callable[..., Queue]) -> None:
    waiting = queue()
    first = waiting.submit([arrival(0)])
    lost = waiting.submit([arrival(1)], [arrival(2)], [arrival(3)])
    waiting.gate.through.release()
    assert first[0].result(LONG) == [COUNTED]
    waiting.gate.failures.append(StoreError("disk full"))
    waiting.gate.through.release()
    assert all(isinstance(future.exception(LONG), Problem) for future in lost)


def test_an_interrupted_leader_hands_on_the_lead(queue: Callable[..., Queue]) -> None:
    waiting = queue()
    leader = waiting.submit([arrival(0)])
    followers = waiting.submit([arrival(1)], [arrival(2)])
    waiting.gate.failures.append(KeyboardInterrupt())
    waiting.gate.through.release(2)
    assert isinstance(leader[0].exception(LONG), KeyboardInterrupt)
    assert [future.result(LONG) for future in followers] == [[COUNTED]] * 2


def test_a_batch_is_bounded(queue: Callable[..., Queue], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "MAX_BATCH", 5)
    waiting = queue()
    sizes = [1, 2, 3, 9, 1]
    batches = [arrivals(range(10 * n, 10 * n + size)) for n, size in enumerate(sizes)]
    futures = waiting.submit(*batches)
    waiting.gate.through.release(len(sizes))
    assert [len(future.result(LONG)) for future in futures] == sizes
    assert waiting.gate.batches == [1, 5, 9, 1]


def test_more_than_may_wait_is_told_to_come_back(queue: Callable[..., Queue]) -> None:
    waiting = queue(max_waiting=3)
    futures = waiting.submit([arrival(0)], arrivals([1, 2]))
    with pytest.raises(Problem, match="at most 3 may") as refusal:
        waiting.commits.submit(arrivals([3, 4]))
    assert refusal.value.slug == "unavailable"
    assert refusal.value.retry_after is not None
    assert 5 <= refusal.value.retry_after <= 10
    futures += waiting.submit([arrival(5)])
    waiting.gate.through.release(2)
    assert [len(future.result(LONG)) for future in futures] == [1, 2, 1]


def test_a_submission_larger_than_the_bound_is_taken_when_nothing_waits(
    store: AnyStore,
) -> None:
    commits = GroupCommit(partial(store.commit, tally=sums), max_waiting=3)
    commits.require_room()
    assert commits.submit(arrivals(range(9))) == [COUNTED] * 9


def test_threads_that_submit_the_same_reports_count_each_once(store: AnyStore) -> None:
    commits = GroupCommit(partial(store.commit, tally=sums))
    batches = [arrivals(range(start, start + 7)) for start in range(0, 300, 3)] * 2
    with ThreadPoolExecutor(16) as pool:
        verdicts = [v for found in pool.map(commits.submit, batches) for v in found]
    assert verdicts.count(COUNTED) == 304
    assert counted(store) == {EPOCH: (304, [304])}


def test_one_report_submitted_by_many_threads_at_once_is_counted_once(store: AnyStore) -> None:
    commits = GroupCommit(partial(store.commit, tally=sums))
    start = threading.Barrier(16)

    def submit(_: int) -> list[CommitStatus]:
        start.wait(LONG)
        return commits.submit([arrival(1)])

    with ThreadPoolExecutor(16) as pool:
        verdicts = [found for [found] in pool.map(submit, range(16))]
    assert sorted(verdicts) == [COUNTED] + [DUPLICATE] * 15


def test_a_leader_that_gathers_begins_when_enough_have_come(queue: Callable[..., Queue]) -> None:
    waiting = queue(window=BatchWindow(3, 60.0))
    first, second = waiting.submit(arrivals([1]), arrivals([2]))
    assert waiting.size() == (2, 0)
    [third] = waiting.submit(arrivals([3]))
    waiting.gate.arrived.acquire(timeout=LONG)
    assert waiting.gate.batches == [3]
    waiting.gate.through.release()
    assert [each.result(LONG) for each in (first, second, third)] == [[COUNTED]] * 3


def test_a_leader_that_gathers_waits_for_nobody_longer_than_its_time(store: AnyStore) -> None:
    for seconds in (0.0, 0.01):
        commits = GroupCommit(partial(store.commit, tally=sums), window=BatchWindow(1_000, seconds))
        assert len(commits.submit(arrivals([1]))) == 1


def test_a_leader_that_is_interrupted_while_it_gathers_commits_first(store: AnyStore) -> None:
    commits = GroupCommit(partial(store.commit, tally=sums), window=BatchWindow(2, 60.0))

    def interrupted(holds: object, seconds: float) -> bool:
        raise KeyboardInterrupt

    with patch.object(commits._entered, "wait_for", interrupted), pytest.raises(KeyboardInterrupt):
        commits.submit(arrivals([1]))
    assert counted(store) == {EPOCH: (1, [1])}
    assert (commits.waiting, commits._busy) == (0, False)
