"""Many threads, many processes, forks: one report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from deniable_client import Client, Outcome
from deniable_client._state import state
from support.builders.client_world import (
    OTHER,
    SETTINGS,
    URL,
    Device,
    MakeDevice,
    Operator,
    manifest,
)

pytestmark = pytest.mark.processes

PATIENCE = 120.0
"""Seconds for the file: how long a busy machine keeps others at it is no outcome of these tests."""

WORKER = """
import json, sys, threading
from deniable_client import Ceiling, Client
from deniable_client._state import state
now, state._BUSY_SECONDS, arguments = json.loads(sys.argv[1])
client = Client(background=False, ceiling=Ceiling(2, 4, 8), clock=lambda: now, **arguments)
outcomes, start = [], threading.Barrier(5)
def answer(value):
    start.wait()
    outcomes.extend(client.record("settings", value) for _ in range(5))
threads = [threading.Thread(target=answer, args=([bool(n % 2), False],)) for n in range(4)]
for thread in threads: thread.start()
print("ready", flush=True)
sys.stdin.readline()
start.wait()
for thread in threads: thread.join()
client.close()
print(json.dumps(outcomes))
"""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_BUSY_SECONDS", PATIENCE)


def race(work: Callable[[int], Outcome], threads: int) -> Counter[Outcome]:
    """What so many threads at once got."""
    start, outcomes = threading.Barrier(threads), list[Outcome]()

    def run(number: int) -> None:
        start.wait()
        outcomes.append(work(number))

    runners = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    return Counter(outcomes)


def test_eight_threads_of_one_client_make_one_report(device: Device) -> None:
    client = device.granted()
    values = [SETTINGS, OTHER]
    outcomes = race(lambda number: client.record("settings", values[number % 2]), 8)
    assert outcomes[Outcome.QUEUED] == 1
    assert outcomes[Outcome.ALREADY_ANSWERED] == 7
    assert client.flush(early=True).sent == 1


def test_eight_clients_on_one_file_make_one_report(device: Device) -> None:
    device.granted()
    clients = [device.open() for _ in range(8)]
    outcomes = race(lambda number: clients[number].record("settings", SETTINGS), 8)
    assert outcomes[Outcome.QUEUED] == 1
    assert outcomes[Outcome.STORAGE_BUSY] == 0


def test_eight_threads_may_start_an_installation_at_once(device: Device) -> None:
    def start(number: int) -> Outcome:
        client = device.open()
        client.consent("granted")
        return client.record("settings", SETTINGS)

    assert race(start, 8)[Outcome.QUEUED] == 1


def test_eight_threads_that_flush_send_each_report_once(make_device: MakeDevice) -> None:
    names = "abcdef"
    device = make_device(*(manifest(name, epsilon='"0.5"') for name in names))
    client = device.granted()
    for name in names:
        client.record(name, SETTINGS)
    threads = [threading.Thread(target=client.flush, args=(PATIENCE, True)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(device.payloads) == len(names)


def test_two_processes_of_four_threads_make_one_report(
    device: Device, operator: Operator, tmp_path: Path
) -> None:
    device.granted().close()
    file = tmp_path / "settings.manifest"
    file.write_bytes(operator.sign(manifest()))
    arguments = {
        "url": URL,
        "trust": operator.trust,
        "manifests": [str(file)],
        "state": str(device.path),
    }
    command = [
        sys.executable,
        "-I",
        "-c",
        WORKER,
        json.dumps([device.clock(), PATIENCE, arguments]),
    ]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    outcomes = Counter(
        outcome
        for worker in workers
        for outcome in json.loads(worker.communicate("go\n", timeout=PATIENCE)[0])
    )
    assert outcomes == {"queued": 1, "already-answered": 39}
    assert device.open().budget().spent == 1


def in_a_fork(work: Callable[[], object]) -> str:
    """What `work` gives in a forked copy of this process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, str(work()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text


def test_a_forked_copy_shares_the_installation(device: Device) -> None:
    client = device.granted()
    assert in_a_fork(lambda: client.record("settings", SETTINGS)) == "queued"
    assert client.record("settings", OTHER) is Outcome.ALREADY_ANSWERED
    assert client.flush(early=True).sent == 1


def test_the_original_goes_on_after_a_fork(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    assert in_a_fork(lambda: client.record("settings", OTHER)) == "already-answered"
    assert client.flush(early=True).accepted == 1


def test_a_copy_that_closes_does_not_disturb_the_original(device: Device) -> None:
    client = device.granted()
    in_a_fork(client.close)
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    client.close()
    assert device.open().record("settings", SETTINGS) is Outcome.ALREADY_ANSWERED


def test_a_copy_of_a_state_in_memory_is_closed(make_device: MakeDevice) -> None:
    client = make_device(path=":memory:").granted()
    assert in_a_fork(lambda: client.record("settings", SETTINGS)) == "closed"
    assert client.record("settings", SETTINGS) is Outcome.QUEUED


def test_a_copy_starts_its_own_thread_once_it_has_something_to_send(
    make_device: MakeDevice,
) -> None:
    def threads() -> int:
        return sum(each.name == "deniable-upload" for each in threading.enumerate())

    device = make_device(manifest("a"), manifest("b"))
    client = device.open(background=True)
    client.consent("granted")
    client.record("a", SETTINGS)
    assert threads() == 1
    printed = in_a_fork(lambda: (threads(), str(client.record("b", SETTINGS)), threads()))
    assert printed == "(0, 'queued', 1)"


def test_a_fork_while_another_thread_uploads_leaves_a_working_copy(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    answer, inside, forked = device.transport.answer, threading.Event(), threading.Event()

    def slow(request: object) -> object:
        inside.set()
        forked.wait(PATIENCE)
        return answer(request)  # type: ignore[arg-type]  # the double's own type

    device.transport.answer = slow  # type: ignore[assignment]  # the double's own type
    uploading = threading.Thread(target=client.flush, args=(PATIENCE, True))
    uploading.start()
    assert inside.wait(PATIENCE)
    printed = in_a_fork(lambda: client.flush(0.1, early=True).waiting)
    forked.set()
    uploading.join()
    assert printed == "1"
    assert len(device.payloads) == 1


def test_a_fork_hidden_from_python_disables_the_copy(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    client: Client = device.granted()
    pid = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: pid + 1)
    assert client.record("settings", SETTINGS) is Outcome.DISABLED
    assert "after the fork" in str(client.flush().problems[0])
