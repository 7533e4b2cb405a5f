"""A process that counts: `python store_worker.py ADDRESS FIRST LAST SIZE [OFFSET]`.

Waits for a line on stdin, commits reports FIRST … LAST in batches of SIZE, and after each commit
prints how many reports of the batch it counted and the batch's first number. With OFFSET they are
those of people FIRST … LAST, with their vouchers.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from deniable_aggregator.store.rows import CommitStatus
from support.builders.databases import Database, at
from support.builders.store_reports import arrivals, sums, vouched
from support.processes.deniable_command import bare_environ

TESTS = Path(__file__).parents[2]


def start(
    database: Database, first: int, last: int, size: int, *, offset: int | None = None
) -> subprocess.Popen[str]:
    """Such a process, ready to begin."""
    run = [sys.executable, __file__, database.address, str(first), str(last), str(size)]
    run += [] if offset is None else [str(offset)]
    worker = subprocess.Popen(
        run,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=bare_environ() | {"PYTHONPATH": str(TESTS)},
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    return worker


def begin(worker: subprocess.Popen[str]) -> None:
    """Let it go."""
    assert worker.stdin is not None
    worker.stdin.write("\n")
    worker.stdin.flush()


def main(address: str, first: str, last: str, size: str, offset: str | None = None) -> None:
    store = at(address)
    print("ready", flush=True)
    sys.stdin.readline()
    for start in range(int(first), int(last), int(size)):
        numbers = range(start, start + int(size))
        batch = arrivals(numbers) if offset is None else vouched(numbers, offset=int(offset))
        verdicts = store.commit(batch, sums)
        print(verdicts.count(CommitStatus.COUNTED), start, flush=True)
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
