"""Fifty threads, four processes, every kind of question, one state file."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from deniable_client import Ceiling, Outcome
from support.builders.client_world import (
    DAY,
    OTHER,
    SETTINGS,
    URL,
    Device,
    MakeDevice,
    Operator,
    manifest,
)
from support.oracles.coin_witness import Witness, watched
from support.tiers import grid

pytestmark = pytest.mark.processes

QUESTIONS = {
    "once": manifest("once"),
    "fresh": manifest("fresh", repeat='"fresh"', epsilon_lifetime='"3"'),
    "memoized": manifest(
        "memoized", repeat='"memoized"', epsilon_lifetime='"4"', hold_epochs="400"
    ),
}
CEILING = Ceiling(2, 4, 8)
THREADS = 50

WORKER = """
import json, sys, threading
from deniable_client import Ceiling, Client
now, arguments = json.loads(sys.argv[1])
client = Client(background=False, ceiling=Ceiling(2, 4, 8), clock=lambda: now, **arguments)
outcomes, start = [], threading.Barrier(14)
def answer(value):
    start.wait()
    for _ in range(3):
        outcomes.extend(client.record(name, value) for name in ("once", "fresh", "memoized"))
threads = [threading.Thread(target=answer, args=([bool(n % 2), False],)) for n in range(13)]
for thread in threads: thread.start()
print("ready", flush=True)
sys.stdin.readline()
start.wait()
for thread in threads: thread.join()
client.close()
print(json.dumps(outcomes))
"""


@pytest.fixture
def crowd(make_device: MakeDevice) -> Device:
    """A device with a question of each kind."""
    return make_device(*QUESTIONS.values())


def test_fifty_threads_make_one_report_of_each_question_a_day(crowd: Device) -> None:
    client = crowd.granted(ceiling=CEILING)
    outcomes: Counter[tuple[str, Outcome]] = Counter()
    lock = threading.Lock()

    def answer(start: threading.Barrier, value: object) -> None:
        start.wait()
        for name in QUESTIONS:
            outcome = client.record(name, value)
            with lock:
                outcomes[name, outcome] += 1

    with watched(Witness()) as witness:
        for day in range(3):
            start = threading.Barrier(THREADS)
            threads = [
                threading.Thread(target=answer, args=(start, (SETTINGS, OTHER)[number % 2]))
                for number in range(THREADS)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            crowd.clock.advance(DAY)
            assert day < 3
    assert witness.second == []
    assert outcomes["once", Outcome.QUEUED] == outcomes["memoized", Outcome.QUEUED] == 1
    assert outcomes["fresh", Outcome.QUEUED] == 3
    assert outcomes["memoized", Outcome.HELD] == 2
    assert outcomes.total() == 3 * THREADS * len(QUESTIONS)
    assert {outcome for _, outcome in outcomes} == {"queued", "held", "already-answered"}
    assert client.budget().spent == 1 + 3 + 2


@pytest.mark.parametrize("processes", grid([2, 4], by_default=[2]))
def test_processes_of_13_threads_make_one_report_of_each_question(
    crowd: Device, operator: Operator, tmp_path: Path, processes: int
) -> None:
    crowd.granted().close()
    files = []
    for name, shipped in QUESTIONS.items():
        files.append(str(tmp_path / f"{name}.manifest"))
        Path(files[-1]).write_bytes(operator.sign(shipped))
    arguments = {
        "url": URL,
        "trust": operator.trust,
        "manifests": files,
        "state": str(crowd.path),
    }
    command = [sys.executable, "-I", "-c", WORKER, json.dumps([crowd.clock(), arguments])]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    outcomes = Counter(
        outcome for worker in workers for outcome in json.loads(worker.communicate(timeout=120)[0])
    )
    assert outcomes["queued"] == 3
    assert outcomes.total() == processes * 13 * 3 * 3
    assert (
        outcomes["queued"] + outcomes["already-answered"] + outcomes["storage-busy"]
        == outcomes.total()
    )
    client = crowd.open()
    assert client.budget().spent == 1 + 1 + 2
    assert client.flush(early=True).accepted == 3
