"""`record()` called from an event loop, which goes on turning while others hold the file."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import closing

import pytest

from deniable_client import Outcome, Reply
from deniable_client._state import state
from deniable_client.testing import Request
from support.builders.client_world import SETTINGS, Device, MakeDevice, manifest

NAMES = [f"q{number}" for number in range(40)]
PATIENCE = 120.0
SLOW_MACHINE = PATIENCE / 2
"""A loop that waits as a thread may here is held up twice as long; none waits for the machine."""


@pytest.fixture(autouse=True)
def patient_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of loops the file is waited for so long that nothing else takes that time."""
    monkeypatch.setattr(state, "_BUSY_SECONDS", PATIENCE)


@pytest.fixture
def many(make_device: MakeDevice) -> Device:
    """A device that can be asked forty times."""
    return make_device(*(manifest(name, epsilon='"0.1"') for name in NAMES))


def longest_gap(work: Callable[[], Awaitable[object]]) -> float:
    """The longest time in which a loop that does this work ran nothing else."""
    gaps = [0.0]

    async def watch() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    async def run() -> None:
        watcher = asyncio.create_task(watch())
        await asyncio.sleep(0.01)
        await work()
        watcher.cancel()

    asyncio.run(run())
    return max(gaps)


@pytest.mark.slow
def test_forty_answers_hold_nobody_up(many: Device) -> None:
    client = many.granted()
    outcomes = []

    async def answer() -> None:
        for name in NAMES:
            outcomes.append(client.record(name, SETTINGS))
            await asyncio.sleep(0)

    assert longest_gap(answer) < SLOW_MACHINE
    assert outcomes == [Outcome.QUEUED] * len(NAMES)


@pytest.mark.slow
def test_a_file_that_another_process_holds_is_given_up_soon(many: Device) -> None:
    client = many.granted()
    outcomes = []

    async def answer() -> None:
        outcomes.append(client.record("q0", SETTINGS))

    with closing(sqlite3.connect(many.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert longest_gap(answer) < SLOW_MACHINE
    assert outcomes == [Outcome.STORAGE_BUSY]
    assert client.budget().spent == 0
    assert client.record("q0", SETTINGS) is Outcome.QUEUED


def test_a_thread_that_is_at_the_file_is_not_waited_for(many: Device) -> None:
    client = many.granted()
    inside, go = threading.Event(), threading.Event()
    outcomes = []

    def hold() -> None:
        with client._state.transaction():
            inside.set()
            go.wait(PATIENCE)

    async def answer() -> None:
        outcomes.append(client.record("q0", SETTINGS))

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(SLOW_MACHINE)
    try:
        assert longest_gap(answer) < SLOW_MACHINE
    finally:
        go.set()
        thread.join()
    assert outcomes == [Outcome.STORAGE_BUSY]


def test_an_upload_under_way_does_not_hold_the_file(many: Device) -> None:
    client = many.granted()
    client.record("q0", SETTINGS)
    answer, inside, go = many.transport.answer, threading.Event(), threading.Event()
    outcomes = []

    def slow(request: Request) -> Reply:
        inside.set()
        go.wait(PATIENCE)
        return answer(request)

    async def record() -> None:
        outcomes.append(client.record("q1", SETTINGS))

    many.transport.answer = slow
    thread = threading.Thread(target=client.flush, args=(PATIENCE, True))
    thread.start()
    assert inside.wait(SLOW_MACHINE)
    gap = longest_gap(record)
    go.set()
    thread.join()
    assert gap < SLOW_MACHINE
    assert outcomes == [Outcome.QUEUED]


def test_a_thread_outside_the_loop_stays_patient(many: Device) -> None:
    client = many.granted()
    outcomes: list[Outcome] = []

    async def both() -> None:
        outcomes.append(client.record("q0", SETTINGS))
        outcomes.append(await asyncio.to_thread(client.record, "q1", SETTINGS))
        with client._state.reading() as db:
            outcomes.append(db.execute("PRAGMA busy_timeout").fetchone()[0])

    asyncio.run(both())
    with client._state.reading() as db:
        (patience,) = db.execute("PRAGMA busy_timeout").fetchone()
        (pages,) = db.execute("PRAGMA wal_autocheckpoint").fetchone()
    assert outcomes == [Outcome.QUEUED, Outcome.QUEUED, 10]
    assert (patience, pages) == (PATIENCE * 1000, 1_000)
