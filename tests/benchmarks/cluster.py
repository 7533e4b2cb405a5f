"""Spark as it runs in a cluster: a master and two workers on loopback, started from the wheel."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from deniable_aggregator.operations.process.serving import free_port
from support.processes.descendants import command_line, descendants

HOST = "127.0.0.1"
WORKERS = 2
START_SECONDS = 120.0
TESTS = Path(__file__).parents[1]
EXECUTOR = "CoarseGrainedExecutorBackend"


def missing() -> str:
    """What keeps Spark from running here; empty where nothing does."""
    actual = {
        "pyspark": find_spec("pyspark"),
        "pyarrow": find_spec("pyarrow"),
        "Java": which("java"),
    }
    return ", ".join(name for name, there in actual.items() if not there)


class Standalone:
    """A master and its workers, which can be killed and replaced."""

    def __init__(self, cores: int, folder: Path, stack: ExitStack) -> None:
        """Each worker offers so many cores and writes its logs into `folder`."""
        self._cores = cores
        self._folder = folder
        self._stack = stack
        self._workers: list[subprocess.Popen[bytes]] = []
        self.port = free_port(HOST)
        where = ["--host", HOST, "--webui-port", "0"]
        self._master = self._run("master.Master", *where, "--port", str(self.port))
        _wait(self.port)
        self.complete()

    @property
    def address(self) -> str:
        """As Spark writes it."""
        return f"spark://{HOST}:{self.port}"

    @property
    def workers(self) -> list[int]:
        """Their pids, of those that run."""
        return [each.pid for each in self._workers if each.poll() is None]

    @property
    def processes(self) -> list[int]:
        """The pids of all that run; executors are below the workers."""
        return [self._master.pid, *self.workers]

    def complete(self) -> None:
        """Start workers until there are as many as there should be."""
        while len(self.workers) < WORKERS:
            memory = ["--memory", "2g", "--work-dir", str(self._folder)]
            self._workers.append(
                self._run(
                    "worker.Worker",
                    *("--host", HOST, "--webui-port", "0", "--cores", str(self._cores)),
                    *memory,
                    self.address,
                )
            )

    def executors(self, worker: int) -> list[int]:
        """The pids of Spark's executors below a worker."""
        return [pid for pid in descendants(worker) if EXECUTOR in command_line(pid)]

    def lose(self, worker: int) -> None:
        """A machine that is gone: the worker and all it runs, killed at once."""
        for pid in (worker, *descendants(worker)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for each in self._workers:
            if each.pid == worker:
                each.wait(timeout=30)

    def _run(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        import pyspark

        home = str(Path(pyspark.__file__).parent)
        environ = os.environ | {
            "SPARK_HOME": home,
            "SPARK_LOCAL_IP": HOST,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(TESTS),
        }
        command = [f"{home}/bin/spark-class", f"org.apache.spark.deploy.{name}", *arguments]
        return self._stack.enter_context(_running(command, environ))


@contextmanager
def standalone(cores: int) -> Iterator[Standalone]:
    """It runs within the block; each of the two workers offers so many cores."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        yield Standalone(cores, Path(folder), stack)


@contextmanager
def session(master: str) -> Iterator[None]:
    """A session that the engine finds, so that its start is not part of what is timed."""
    os.environ.update(SPARK_LOCAL_IP=HOST, PYSPARK_PYTHON=sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("benchmarks")
    builder = builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    try:
        spark.range(100).count()
        yield
    finally:
        spark.stop()


@contextmanager
def _running(command: list[str], environ: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    null = subprocess.DEVNULL
    process = subprocess.Popen(command, env=environ, stdout=null, stderr=null)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        time.sleep(0.1)
    raise RuntimeError(f"Spark's master did not start within {START_SECONDS:.0f} s")
