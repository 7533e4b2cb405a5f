"""The product as `deniable serve` starts it, and others behind the very same granian."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.process.serving import granian_arguments, running

PACKAGE_PARENT = Path(__file__).parent.parent
HIDDEN = Path(__file__).parent / "hidden"
HOST = "127.0.0.1"
START_SECONDS = 20.0
STOP_SECONDS = 20.0
POLL_SECONDS = 0.02
TICKS = os.sysconf("SC_CLK_TCK")
CPU_FIELDS = slice(11, 13)  # utime and stime, counted after the command's closing parenthesis


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers on loopback: granian's main process and what it started."""

    pid: int
    port: int

    def wait(self) -> None:
        """Return once the port answers; RuntimeError if it does not."""
        deadline = time.monotonic() + START_SECONDS
        while not _listens(self.port):
            if time.monotonic() > deadline:
                raise RuntimeError("the server did not start; its messages are above")
            time.sleep(POLL_SECONDS)

    def cpu_seconds(self) -> float:
        """Processor time of its processes so far; 0 where /proc does not tell."""
        return sum(_cpu(pid) for pid in self._family())

    def rss_mb(self) -> float:
        """Resident memory of its processes together, in MB; 0 where /proc does not tell."""
        return sum(_rss_mb(pid) for pid in self._family())

    def keep_to_first_core(self) -> None:
        """Keep its processes to one core, where the system can."""
        with suppress(AttributeError, OSError):
            core = min(os.sched_getaffinity(0))
            for pid in self._family():
                for thread in Path(f"/proc/{pid}/task").iterdir():
                    os.sched_setaffinity(int(thread.name), {core})

    def _family(self) -> list[int]:
        return [self.pid, *_children(self.pid)]


@contextmanager
def product(settings: Settings) -> Iterator[Served]:
    """Serve a data directory as the command does, without what only the peers brought along."""
    with _environment("PYTHONPATH", str(HIDDEN)), running(settings) as server:
        yield Served(server.pid, settings.port)


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


@contextmanager
def limit(
    factory: str, settings: Settings, *, threads: int | None = None, **environ: str
) -> Iterator[Served]:
    """Start another application with the product's granian options; `wait` before asking it.

    With `threads` it is one of WSGI that has so many, otherwise one of ASGI.
    """
    *options, _ = granian_arguments(settings, access_log=False)
    if threads is not None:
        options[options.index("--interface") + 1] = "wsgi"
        options += ["--blocking-threads", str(threads)]
    process = subprocess.Popen(
        [sys.executable, "-m", "granian", *options, factory],
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PARENT), **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield Served(process.pid, settings.port)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    try:
        actual = [(task / "children").read_text().split() for task in tasks.iterdir()]
    except OSError:
        return []
    return [int(child) for children in actual for child in children]


def _cpu(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[CPU_FIELDS])) / TICKS


def _rss_mb(pid: int) -> float:
    """Resident memory of one process, in MB; 0 where /proc does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) * 1.024e-3 for line in lines if "VmRSS" in line), 0.0)
