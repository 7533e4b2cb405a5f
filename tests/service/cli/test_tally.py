"""`deniable spool tally` as an operator runs it: real processes, killed and started again."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from support.builders.spools import prepare
from support.processes.deniable_command import Deniable, wait_until
from support.processes.descendants import alive, descendants

PATIENCE = 120.0
BLOCKS = 40
"""So many that some are counted before the one that is held up, with two processes."""


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    return Deniable(tmp_path)


@pytest.mark.processes
def test_a_second_tally_says_that_nothing_was_left(deniable: Deniable, tmp_path: Path) -> None:
    made = prepare(tmp_path, 24, 3)
    arguments = ["spool", "tally", "--spool", str(made.spool), "--processes", "2"]
    said = deniable.json(*arguments)
    assert (said["blocks"], said["reports"], said["counted"]) == (3, 24, 24)
    assert (said["refused"], said["duplicates"], said["damaged"]) == ({}, 0, [])
    assert made.counted() == made.expected()
    again = deniable.done(*arguments)
    assert "3 blocks were counted before by job tally" in again
    assert "Counted 0 of 0 reports in 0 blocks" in again


@contextmanager
def held_up(spool: Path) -> Iterator[None]:
    """Whoever reads the block in the middle waits for the end of this: no job gets past it."""
    names = sorted(spool.iterdir())
    middle = names[len(names) // 2]
    aside = middle.rename(spool.parent / middle.name)
    os.mkfifo(middle)
    try:
        yield
    finally:
        with suppress(OSError):  # no process waits
            os.close(os.open(middle, os.O_WRONLY | os.O_NONBLOCK))
        aside.replace(middle)


@pytest.mark.exhaustive
@pytest.mark.processes
def test_after_a_killed_driver_the_next_run_ends_the_job(
    deniable: Deniable, tmp_path: Path
) -> None:
    made = prepare(tmp_path, 80, BLOCKS)
    arguments = ["spool", "tally", "--spool", str(made.spool), "--processes", "2", "--json"]
    with held_up(made.spool), deniable.process(*arguments) as process:
        wait_until("a block is counted", lambda: made.blocks_done() > 0)
        workers = descendants(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
    done = made.blocks_done()
    assert 0 < done < BLOCKS
    assert len(workers) >= 2
    wait_until("its workers end", lambda: not any(map(alive, workers)))
    rest = json.loads(deniable.done(*arguments))
    assert (rest["blocks_before"], rest["blocks"]) == (done, BLOCKS - done)
    assert made.counted() == made.expected()


@pytest.mark.exhaustive
@pytest.mark.processes
def test_a_killed_worker_is_an_error_that_says_what_to_do(
    deniable: Deniable, tmp_path: Path
) -> None:
    made = prepare(tmp_path, 80, BLOCKS)
    arguments = ["spool", "tally", "--spool", str(made.spool), "--processes", "1"]
    with held_up(made.spool), deniable.process(*arguments) as process:
        wait_until("a block is counted", lambda: made.blocks_done() > 0)
        os.kill(descendants(process.pid)[-1], signal.SIGKILL)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "a worker process died: run the same command again" in said
    deniable.done(*arguments)
    assert made.counted() == made.expected()


@pytest.mark.slow
def test_a_damaged_block_is_named_and_the_rest_is_counted(
    deniable: Deniable, tmp_path: Path
) -> None:
    made = prepare(tmp_path, 4, 2)
    path = sorted(made.spool.iterdir())[0]
    path.write_bytes(b"damaged")
    result = deniable("spool", "tally", "--spool", made.spool, "--processes", "1")
    assert result.exit_code == 1
    assert f"1 damaged blocks are not counted, first: {path}" in result.stderr
    assert "Counted 2 of 2 reports" in result.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "local", "--master", "local[2]"], "--master needs --engine spark"),
        (["--engine", "spark", "--processes", "2"], "--processes needs --engine local"),
    ],
)
def test_an_option_of_the_other_engine_is_wrong_usage(
    deniable: Deniable, tmp_path: Path, options: list[str], said: str
) -> None:
    result = deniable("spool", "tally", "--spool", tmp_path, *options)
    assert result.exit_code == 2
    assert said in result.stderr
