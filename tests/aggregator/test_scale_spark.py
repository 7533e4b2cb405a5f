"""The same integers from Spark's executors, of which some die. Needs the extra `spark` and Java."""

from __future__ import annotations

import json
import os
import shutil
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.deniable_command import Deniable, wait_until
from support.descendants import command_line, descendants
from support.spools import prepare

MISSING = [
    name
    for name, found in (
        ("pyspark", find_spec("pyspark")),
        ("pyarrow", find_spec("pyarrow")),
        ("Java", shutil.which("java")),
    )
    if not found
]
pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        bool(MISSING),
        reason=f"{', '.join(MISSING)} missing: the extra deniable-aggregator[spark] and Java 17",
    ),
]
MASTER = "local-cluster[2,1,1024]"
EXECUTOR = "CoarseGrainedExecutorBackend"


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    made = Deniable(tmp_path)
    made.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    return made


def executors(driver: int) -> list[int]:
    return [pid for pid in descendants(driver) if EXECUTOR in command_line(pid)]


def test_an_executor_killed_in_the_middle_changes_no_integer(
    deniable: Deniable, tmp_path: Path
) -> None:
    made = prepare(tmp_path, 240, 60)
    run = ["tally", "--engine", "spark", "--master", MASTER, "--spool", str(made.spool), "--json"]
    with deniable.process(*run) as process:
        wait_until("a block is counted", lambda: made.blocks_done() > 0, 120)
        first, second = executors(process.pid)
        os.kill(first, signal.SIGKILL)
        said, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors[-2000:]
    summary = json.loads(said)
    assert first != second
    assert (summary["blocks"], summary["counted"], summary["duplicates"]) == (60, 240, 0)
    assert summary["processes"] >= 2
    assert made.counted() == made.expected()


def test_a_killed_driver_is_run_again_by_processes_of_this_machine(
    deniable: Deniable, tmp_path: Path
) -> None:
    made = prepare(tmp_path, 240, 60)
    spool = ["--spool", str(made.spool)]
    with deniable.process("tally", "--engine", "spark", "--master", MASTER, *spool) as process:
        wait_until("a block is counted", lambda: made.blocks_done() > 0, 120)
        others = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    done = made.blocks_done()
    _end(others)
    assert 0 < done < 60
    rest = deniable.json("tally", "--processes", "2", *spool)
    assert (rest["blocks_before"], rest["counted"]) == (done, 240 - 4 * done)
    assert made.counted() == made.expected()


def test_what_goes_wrong_on_an_executor_is_said_in_one_line(
    deniable: Deniable, tmp_path: Path
) -> None:
    made = prepare(tmp_path, 2, 1)
    run = ["tally", "--engine", "spark", "--master", "local[1]", "--spool", str(made.spool)]
    with deniable.process(*run, "--keys", str(tmp_path / "none")) as process:
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "Error: Spark gave up: " in errors
    assert str(tmp_path / "none") in errors.split("Spark gave up: ")[1].splitlines()[0]
    assert made.counted() == {}


def _end(processes: list[int]) -> None:
    """Spark's own JVMs outlive a killed driver for a while."""

    def ended() -> bool:
        return not any("org.apache.spark" in command_line(pid) for pid in processes)

    wait_until("Spark's processes end", ended, 60)
