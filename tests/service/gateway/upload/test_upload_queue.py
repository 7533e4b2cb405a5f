"""Uploads that wait: stored together by one thread, woken together, refused where it ended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from deniable_gateway.problem import Problem
from deniable_gateway.suspension import Suspension
from deniable_gateway.upload import upload_queue
from deniable_gateway.upload.gate import Arrival, Sender
from deniable_gateway.upload.upload_queue import BUSY_SECONDS, Outcome, UploadQueue
from deniable_shared.wire.report import ReportStatus

LONG = 60.0


def arrival(name: str, size: int = 4) -> Arrival:
    return Arrival(name, bytes(size), Sender())


def status(name: str) -> ReportStatus:
    return ReportStatus(name.encode().rjust(16), 1)


@dataclass
class Gate:
    """Stores once it is let through, or fails instead; every upload is answered by its name."""

    batches: list[list[str]] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    through: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def take(self, arrivals: Sequence[Arrival]) -> Sequence[Outcome]:
        self.batches.append([each.collection for each in arrivals])
        self.arrived.release()
        assert self.through.acquire(timeout=LONG)
        if self.failures:
            raise self.failures.pop()
        return [[status(each.collection)] for each in arrivals]


@dataclass
class World:
    gate: Gate = field(default_factory=Gate)
    suspension: Suspension = field(default_factory=Suspension)
    pauses: list[float] = field(default_factory=list)

    def queue(self, **more: Any) -> UploadQueue:
        return UploadQueue(
            self.gate.take, suspension=self.suspension, sleep=self.pauses.append, **more
        )

    def run(self, asking: Callable[[UploadQueue], Coroutine[Any, Any, None]], **more: Any) -> None:
        """Ask on a loop; at the end nothing waits and the thread has ended."""
        queue = self.queue(**more)
        asyncio.run(asking(queue))
        self.gate.through.release(9)
        queue.stop()


async def arrived(gate: Gate) -> None:
    """A batch is being stored."""
    assert await asyncio.to_thread(gate.arrived.acquire, timeout=LONG)


async def sent(queue: UploadQueue, *names: str, size: int = 4) -> list[Any]:
    """Tasks of uploads that are in the queue by now, in this order."""
    tasks = [asyncio.ensure_future(queue.put(arrival(name, size))) for name in names]
    await asyncio.sleep(0)
    return tasks


async def answers(tasks: Sequence[Awaitable[list[ReportStatus]]]) -> list[object]:
    return list(await asyncio.gather(*tasks, return_exceptions=True))


def test_all_that_wait_are_stored_together_and_each_gets_its_own_answer() -> None:
    world = World()

    async def asking(queue: UploadQueue) -> None:
        tasks = await sent(queue, "a")
        await arrived(world.gate)
        tasks += await sent(queue, "b", "c", "d")
        assert queue.waiting == 3
        world.gate.through.release(2)
        assert await answers(tasks) == [[status(name)] for name in "abcd"]

    world.run(asking)
    assert world.gate.batches == [["a"], ["b", "c", "d"]]


def test_nobody_is_answered_before_the_batch_is_stored() -> None:
    world = World()

    async def asking(queue: UploadQueue) -> None:
        tasks = await sent(queue, "a")
        await arrived(world.gate)
        assert not tasks[0].done()
        world.gate.through.release()
        assert await answers(tasks) == [[status("a")]]

    world.run(asking)


def test_a_batch_that_fails_refuses_its_uploads_and_no_others() -> None:
    world = World()

    async def asking(queue: UploadQueue) -> None:
        lost = await sent(queue, "a")
        await arrived(world.gate)
        kept = await sent(queue, "b", "c")
        world.gate.failures.append(RuntimeError("nobody foresaw this"))
        world.gate.through.release(2)
        [problem] = await answers(lost)
        assert isinstance(problem, Problem)
        assert (problem.slug, problem.status) == ("unavailable", 503)
        assert problem.retry_after is not None
        assert 5 <= problem.retry_after <= 10
        assert await answers(kept) == [[status("b")], [status("c")]]

    world.run(asking)
    assert world.suspension.names == ()


def test_an_outcome_that_is_a_problem_is_raised_to_its_own_upload() -> None:
    def take(arrivals: Sequence[Arrival]) -> Sequence[Outcome]:
        return [Problem("conflict", "no") if each.collection == "b" else [] for each in arrivals]

    async def asking() -> list[object]:
        return await answers(await sent(queue, "a", "b", "c"))

    queue = UploadQueue(take, suspension=Suspension(), sleep=lambda _: None)
    first, second, third = asyncio.run(asking())
    queue.stop()
    assert (first, third) == ([], [])
    assert isinstance(second, Problem)
    assert second.slug == "conflict"


def test_a_batch_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_queue, "BATCH_BYTES", 10)
    world = World()

    async def asking(queue: UploadQueue) -> None:
        tasks = await sent(queue, "a")
        await arrived(world.gate)
        tasks += await sent(queue, *"bcdef")
        tasks += await sent(queue, "g", size=99)
        world.gate.through.release(9)
        assert await answers(tasks) == [[status(name)] for name in "abcdefg"]

    world.run(asking)
    assert world.gate.batches == [["a"], ["b", "c", "d"], ["e", "f", "g"]]
    assert world.pauses == []  # there is nothing to gather where more waits than a batch holds


def test_an_upload_that_comes_alone_does_not_wait_for_others() -> None:
    world = World()

    async def asking(queue: UploadQueue) -> None:
        for name in "ab":
            tasks = await sent(queue, name)
            world.gate.through.release()
            await answers(tasks)

    world.run(asking)
    assert world.pauses == []


def test_after_a_batch_of_several_the_next_one_gathers_for_a_moment() -> None:
    world = World()

    async def asking(queue: UploadQueue) -> None:
        tasks = await sent(queue, "a")
        await arrived(world.gate)
        tasks += await sent(queue, "b", "c")
        world.gate.through.release(9)
        await answers(tasks)
        await answers(await sent(queue, "d"))
        await answers(await sent(queue, "e"))

    world.run(asking)
    assert world.gate.batches == [["a"], ["b", "c"], ["d"], ["e"]]
    assert world.pauses == [BUSY_SECONDS]


def test_where_commits_are_dear_the_first_of_every_batch_waits_for_others() -> None:
    world = World()
    world.gate.through.release(9)

    async def asking(queue: UploadQueue) -> None:
        for name in "ab":
            await answers(await sent(queue, name))

    world.run(asking, window_seconds=1.5)
    assert world.pauses == [1.5, 1.5]


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(1)])
def test_a_thread_that_ends_refuses_all_and_suspends_uploads(end: BaseException) -> None:
    world = World()

    async def asking(queue: UploadQueue) -> None:
        tasks = await sent(queue, "a")
        await arrived(world.gate)
        tasks += await sent(queue, "b")
        world.gate.failures.append(end)
        world.gate.through.release()
        tasks += await sent(queue, "c")
        found = await answers(tasks)
        found += await answers(await sent(queue, "d"))
        assert [getattr(each, "slug", None) for each in found] == ["unavailable"] * 4

    world.run(asking)
    assert world.suspension.names == ("uploads",)
    assert "restart the service" in str(world.suspension.reason("uploads"))


def test_a_request_that_went_away_is_stored_and_passed_over() -> None:
    world = World()

    async def asking(queue: UploadQueue) -> None:
        gone, stays = await sent(queue, "a", "b")
        gone.cancel()
        world.gate.through.release(2)
        assert await answers([stays]) == [[status("b")]]

    world.run(asking)
    assert [name for batch in world.gate.batches for name in batch] == ["a", "b"]


def test_at_the_end_what_waits_is_stored() -> None:
    world = World()

    async def asking(queue: UploadQueue) -> None:
        await sent(queue, "a")
        await arrived(world.gate)
        await sent(queue, "b", "c")

    world.run(asking)
    assert world.gate.batches == [["a"], ["b", "c"]]


def test_a_queue_that_nobody_used_ends_at_once() -> None:
    World().queue().stop()
