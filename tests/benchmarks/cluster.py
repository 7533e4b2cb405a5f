"""Spark as it stands in a cluster: a master and two workers on loopback, started from the wheel."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from deniable_aggregator.process.serving import free_port

HOST = "127.0.0.1"
WORKERS = 2
START_SECONDS = 60.0
TESTS = Path(__file__).parents[1]


def missing() -> str:
    """What keeps Spark from running here; empty where nothing does."""
    found = {
        "pyspark": find_spec("pyspark"),
        "pyarrow": find_spec("pyarrow"),
        "Java": which("java"),
    }
    return ", ".join(name for name, there in found.items() if not there)


@contextmanager
def standalone(cores: int) -> Iterator[str]:
    """The master's address; each of the two workers offers so many cores."""
    import pyspark

    port = free_port(HOST)
    master = f"spark://{HOST}:{port}"
    home = str(Path(pyspark.__file__).parent)
    environ = os.environ | {
        "SPARK_HOME": home,
        "SPARK_LOCAL_IP": HOST,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(TESTS),
    }
    deploy = [f"{home}/bin/spark-class", "org.apache.spark.deploy"]
    worker = ["--host", HOST, "--cores", str(cores), "--memory", "2g", "--webui-port", "0", master]
    with ExitStack() as stack:
        first = ["--host", HOST, "--port", str(port), "--webui-port", "0"]
        stack.enter_context(_running([deploy[0], f"{deploy[1]}.master.Master", *first], environ))
        _wait(port)
        for _ in range(WORKERS):
            stack.enter_context(
                _running([deploy[0], f"{deploy[1]}.worker.Worker", *worker], environ)
            )
        yield master


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
def _running(command: list[str], environ: dict[str, str]) -> Iterator[None]:
    null = subprocess.DEVNULL
    process = subprocess.Popen(command, env=environ, stdout=null, stderr=null)
    try:
        yield
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
