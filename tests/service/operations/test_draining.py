"""SIGTERM while uploads come in, to several workers: what was acknowledged is there, all of it."""

from __future__ import annotations

import ctypes
import http.client
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.process.serving import free_port, granian_arguments
from deniable_shared.wire.report import MEDIA_TYPE, Report, encode_upload
from support.builders.api_world import World, authored, opened
from support.processes import postgres_server
from support.processes.deniable_command import wait_until
from support.processes.descendants import descendants
from support.tiers import grid

pytestmark = pytest.mark.processes

PATIENCE = 90.0
SENDERS = 4
REPORTS = 200
ENOUGH = 40
BITS = {"dark_mode": True, "beta": False}


@pytest.fixture(
    params=grid([1, 2, 3], by_default=[2]),
    ids={1: "sqlite", 2: "postgres, 2 workers", 3: "postgres, 3 workers"}.get,
)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    store = "" if request.param == 1 else postgres_server.empty()
    yield Settings(data=tmp_path / "data", store=store, workers=request.param, port=free_port())
    if store:
        postgres_server.drop(store)


def filled(world: World) -> tuple[str, list[Report]]:
    today = datetime.now(UTC).date()
    begin, end = str(today - timedelta(9)), str(today + timedelta(99))
    found = world.register(authored(valid_from=begin, expires=end))
    epoch = int(time.time()) // found.manifest.epoch_seconds
    return found.id, [world.report(found, BITS, epoch=epoch) for _ in range(REPORTS)]


def ask(port: int, method: str, path: str, body: bytes | None = None) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, {"Content-Type": MEDIA_TYPE})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def is_ready(port: int) -> bool:
    try:
        return ask(port, "GET", "/readyz") == 200
    except OSError:
        return False


class Sender(threading.Thread):
    """Sends its reports one by one until it is refused or cut off; keeps what was acknowledged."""

    def __init__(self, port: int, collection: str, reports: list[Report]) -> None:
        super().__init__()
        self.port, self.collection, self.reports = port, collection, reports
        self.acknowledged: list[Report] = []

    def run(self) -> None:
        for report in self.reports:
            try:
                path = f"/v1/collections/{self.collection}/reports"
                status = ask(self.port, "POST", path, encode_upload([report]))
            except (OSError, http.client.HTTPException):
                return
            if status == 200:
                self.acknowledged.append(report)


def test_every_report_that_was_acknowledged_before_a_sigterm_is_counted(
    settings: Settings,
) -> None:
    folder = settings.data.parent
    with opened(folder, now=time.time(), store=settings.store) as world:
        collection, reports = filled(world)
    senders = [Sender(settings.port, collection, reports[n::SENDERS]) for n in range(SENDERS)]
    process = subprocess.Popen(
        [sys.executable, "-m", "granian", *granian_arguments(settings, access_log=False)],
        env={**os.environ, **settings.environ()},
    )
    try:
        wait_until("ready", lambda: is_ready(settings.port))
        for sender in senders:
            sender.start()
        wait_until("uploads", lambda: sum(len(s.acknowledged) for s in senders) >= ENOUGH)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(timeout=PATIENCE) == 0
        finally:
            process.kill()
            process.wait()
    for sender in senders:
        sender.join()
    result = {report.header.report_id for sender in senders for report in sender.acknowledged}
    assert ENOUGH <= len(result) <= REPORTS
    check_counted(replace(settings, workers=1), collection, result)


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="says which thread a signal is for")
def test_a_worker_ends_whichever_of_its_threads_the_sigterm_was_given_to(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", port=free_port())
    with opened(tmp_path, now=time.time()):
        pass
    process = subprocess.Popen(
        [sys.executable, "-m", "granian", *granian_arguments(settings, access_log=False)],
        env={**os.environ, **settings.environ()},
    )
    try:
        wait_until("ready", lambda: is_ready(settings.port), 30)
        [worker] = descendants(process.pid)
        *_, thread = threads_that_take(signal.SIGTERM, worker)
        assert ctypes.CDLL(None).tgkill(worker, thread, signal.SIGTERM) == 0
        assert process.wait(timeout=PATIENCE) == 1  # it ended without a signal
    finally:
        process.kill()
        process.wait()


def threads_that_take(number: signal.Signals, process: int) -> list[int]:
    """All but the main thread, and those that block it: a signal sent to them is never handled."""
    taking = []
    for thread in Path(f"/proc/{process}/task").iterdir():
        [line] = re.findall(r"SigBlk:\s*(\w+)", (thread / "status").read_text())
        if not int(line, 16) >> (number - 1) & 1:
            taking.append(int(thread.name))
    return [each for each in taking if each != process]


def check_counted(settings: Settings, collection: str, told: set[bytes]) -> None:
    from deniable_aggregator.store.opening import open_read_only, open_store

    with open_read_only(settings) as db:
        seen = {bytes(report_id) for (report_id,) in db.execute("select id from seen").fetchall()}
    store = open_store(settings)
    [row] = store.epochs(collection)
    store.close()
    assert told <= seen
    assert row.n == len(seen)
