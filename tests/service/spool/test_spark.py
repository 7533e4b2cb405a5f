"""The same integers from a standalone Spark of two workers, after any process is killed.

A tier of its own; it needs the extra `spark` and Java 17:

    uv pip install -e "aggregator/service[spark]" && .venv/bin/pytest -n0 -m spark

One master serves all tests; a worker that was lost is replaced.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from benchmarks import cluster
from benchmarks.cluster import Standalone
from support.builders.spools import Prepared, prepare
from support.processes.deniable_command import Deniable, wait_until
from support.processes.descendants import alive, descendants

MISSING = cluster.missing()
pytestmark = [
    pytest.mark.spark,
    pytest.mark.processes,
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"{MISSING} missing: the extra deniable-aggregator[spark] and Java 17",
    ),
]
REPORTS, BLOCKS = 240, 60
SECONDS = 240


class Run:
    """A spool of 60 blocks, and `deniable spool tally` over it on the cluster."""

    def __init__(self, folder: Path, spark: Standalone) -> None:
        self.made: Prepared = prepare(folder, REPORTS, BLOCKS)
        self.deniable = Deniable(folder)
        self.deniable.environ["SPARK_LOCAL_IP"] = cluster.HOST
        self._master = spark.address

    def begun(self) -> AbstractContextManager[subprocess.Popen[str]]:
        """A driver."""
        spool = ["--spool", str(self.made.spool), "--json"]
        return self.deniable.process(
            "spool", "tally", "--engine", "spark", "--master", self._master, *spool
        )

    def in_the_middle(self, driver: subprocess.Popen[str]) -> None:
        """Wait until some blocks are counted and some are not."""
        wait_until("a block is counted", lambda: self.made.blocks_done() > 0, SECONDS)
        assert self.made.blocks_done() < BLOCKS
        assert driver.poll() is None

    def ended(self, driver: subprocess.Popen[str]) -> dict[str, Any]:
        """What a driver says that comes to its end."""
        said, errors = driver.communicate(timeout=SECONDS)
        assert driver.returncode == 0, errors[-2000:]
        summary = json.loads(said)
        assert isinstance(summary, dict)
        return summary


@pytest.fixture(scope="module")
def standing() -> Iterator[Standalone]:
    with cluster.standalone(1) as made:
        yield made


@pytest.fixture
def spark(standing: Standalone) -> Standalone:
    """Master and two workers, started again after a test that killed them."""
    standing.complete()
    return standing


@pytest.fixture
def run(tmp_path: Path, spark: Standalone) -> Run:
    return Run(tmp_path, spark)


def test_an_executor_killed_in_the_middle_changes_no_integer(spark: Standalone, run: Run) -> None:
    with run.begun() as driver:
        run.in_the_middle(driver)
        first, second = [pid for worker in spark.workers for pid in spark.executors(worker)]
        os.kill(first, signal.SIGKILL)
        summary = run.ended(driver)
    assert first != second
    assert (summary["blocks"], summary["counted"], summary["duplicates"]) == (BLOCKS, REPORTS, 0)
    assert summary["processes"] >= 2
    assert run.made.counted() == run.made.expected()


def test_a_worker_lost_in_the_middle_with_all_it_runs_changes_no_integer(
    spark: Standalone, run: Run
) -> None:
    with run.begun() as driver:
        run.in_the_middle(driver)
        lost, other = spark.workers
        assert spark.executors(lost)
        spark.lose(lost)
        summary = run.ended(driver)
    assert spark.workers == [other]
    assert (summary["blocks"], summary["counted"], summary["duplicates"]) == (BLOCKS, REPORTS, 0)
    assert run.made.counted() == run.made.expected()


def test_a_killed_driver_is_run_again_to_the_same_integers(spark: Standalone, run: Run) -> None:
    with run.begun() as driver:
        run.in_the_middle(driver)
        others = descendants(driver.pid)
        driver.send_signal(signal.SIGKILL)
        driver.wait(30)
    wait_until("its Java ends", lambda: not any(map(alive, others)), SECONDS)
    done = run.made.blocks_done()
    assert 0 < done < BLOCKS
    with run.begun() as driver:
        rest = run.ended(driver)
    assert (rest["blocks_before"], rest["counted"]) == (done, REPORTS - 4 * done)
    assert run.made.counted() == run.made.expected()


def test_processes_of_this_machine_finish_what_a_killed_driver_has_begun(
    spark: Standalone, run: Run
) -> None:
    with run.begun() as driver:
        run.in_the_middle(driver)
        driver.send_signal(signal.SIGKILL)
        driver.wait(30)
    done = run.made.blocks_done()
    rest = run.deniable.json("spool", "tally", "--processes", "2", "--spool", str(run.made.spool))
    assert (rest["blocks_before"], rest["counted"]) == (done, REPORTS - 4 * done)
    assert run.made.counted() == run.made.expected()


def test_what_goes_wrong_on_an_executor_is_said_in_one_line(run: Run, tmp_path: Path) -> None:
    made = run.made
    arguments = [
        "spool",
        "tally",
        "--engine",
        "spark",
        "--master",
        "local[1]",
        "--spool",
        str(made.spool),
    ]
    with run.deniable.process(*arguments, "--keys", str(tmp_path / "none")) as process:
        _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert "Error: Spark failed: " in errors
    assert str(tmp_path / "none") in errors.split("Spark failed: ")[1].splitlines()[0]
    assert made.counted() == {}
