"""The way in for WSGI servers: import opens nothing, housekeeping goes on, the end is orderly."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from deniable_aggregator.web import wsgi
from deniable_gateway.background_threads import PeriodicThread, default_sigterm
from support.builders.data_directory import prepared_at

PATIENCE = 60.0
SOON = 0.001


class Ticks:
    """Counts calls and signals when there were enough."""

    def __init__(self, enough: int, *, failing: bool = False) -> None:
        self.seen = threading.Semaphore(0)
        self.enough = enough
        self.failing = failing

    def __call__(self) -> None:
        self.seen.release()
        if self.failing:
            raise OSError("disk full")

    def wait(self) -> bool:
        return all(self.seen.acquire(timeout=PATIENCE) for _ in range(self.enough))


def kept(tick: Callable[[], None]) -> PeriodicThread:
    housekeeping = PeriodicThread(tick, every_seconds=SOON)
    housekeeping.start()
    return housekeeping


def test_housekeeping_ticks_at_once_and_again_and_again() -> None:
    ticks = Ticks(enough=3)
    housekeeping = kept(ticks)
    assert ticks.wait()
    housekeeping.stop()


def test_a_failing_tick_is_logged_and_the_next_one_comes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ticks = Ticks(enough=3, failing=True)
    with caplog.at_level(logging.ERROR):
        housekeeping = kept(ticks)
        assert ticks.wait()
        housekeeping.stop()
    assert "housekeeping failed" in caplog.text
    assert "disk full" in caplog.text


def test_once_stopped_no_tick_runs_and_none_will() -> None:
    running = threading.Event()
    ended = threading.Event()
    begun = threading.Event()

    def tick() -> None:
        begun.set()
        running.wait(PATIENCE)
        ended.set()

    housekeeping = kept(tick)
    assert begun.wait(PATIENCE)
    threading.Timer(0.01, running.set).start()
    housekeeping.stop()
    assert ended.is_set()
    assert [t.name for t in threading.enumerate() if t.name == "housekeeping"] == []


def run(code: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DENIABLE_")}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=clean | environ,
        check=False,
    )


@pytest.mark.processes
def test_importing_opens_nothing(tmp_path: Path) -> None:
    code = "import sys, deniable_aggregator.web.wsgi; print({'flask', 'numpy'} & set(sys.modules))"
    answer = run(code, {"DENIABLE_DATA": str(tmp_path / "nowhere")})
    assert (answer.stdout.strip(), answer.stderr) == ("set()", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.processes
def test_factory_and_object_are_one_application_closed_at_exit(
    tmp_path: Path,
) -> None:
    settings = prepared_at(tmp_path, time.time())
    code = (
        "from deniable_aggregator.web import wsgi\n"
        "print(wsgi.application is wsgi.app() is wsgi.app())\n"
        "print(wsgi.application.test_client().get('/readyz').status_code)"
    )
    answer = run(code, settings.environ())
    assert answer.stdout.split() == ["True", "200"], answer.stderr
    assert not settings.database.with_name("deniable.db-wal").exists()


@pytest.mark.processes
def test_an_opening_process_ends_at_sigterm_with_any_inherited_state(
    tmp_path: Path,
) -> None:
    code = (
        "import os, signal\n"
        "signal.signal(signal.SIGTERM, lambda *_: print('lost', flush=True))\n"
        "from deniable_gateway import background_threads\n"
        "with background_threads.default_sigterm():\n"
        "    pass\n"
        "os.kill(os.getpid(), signal.SIGTERM)\n"
        "with background_threads.default_sigterm():\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    print('goes on')"
    )
    answer = run(code, {})
    assert (answer.stdout, answer.returncode) == ("lost\n", -signal.SIGTERM)


def test_beside_the_main_thread_opening_changes_no_signal() -> None:
    before = signal.getsignal(signal.SIGTERM)
    found: list[object] = []

    def open_beside() -> None:
        with default_sigterm():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=open_beside)
    thread.start()
    thread.join()
    assert found == [before]


def test_a_directory_that_was_never_prepared_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.startswith("DENIABLE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DENIABLE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(Exception, match="deniable init") as error:
        wsgi.app()
    assert len(str(error.value).splitlines()) == 1


def test_there_is_nothing_else_in_the_module() -> None:
    with pytest.raises(AttributeError, match="no attribute 'aplication'"):
        wsgi.aplication  # noqa: B018  (the access raises)
