"""Runs granian until a signal ends it, or until the process that started it ends.

`python -m deniable_aggregator.operations.process.launcher [--delete DIRECTORY] -- ARGUMENTS`,
with granian's arguments. Only the starter holds the other end of standard input, a pipe. When the
starter ends in any way, the pipe closes, the server drains, and the directory of a demo is deleted.
The counters of several workers are in the data directory, in `counters/PORT`. It is emptied at the
start, so a killed server leaves at most one such directory.
"""

from __future__ import annotations

import os
import runpy
import shutil
import signal
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STANDARD_INPUT = 0
COUNTERS = "PROMETHEUS_MULTIPROC_DIR"
WORKERS = "DENIABLE_WORKERS"
DATA = "DENIABLE_DATA"
PORT = "DENIABLE_PORT"


def stop_when_orphaned(orphaned: threading.Event) -> None:
    """Wait for the starter's end of the pipe to close, then ask this process to drain."""
    while os.read(STANDARD_INPUT, 64):
        pass
    orphaned.set()
    os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def counters() -> Iterator[None]:
    """A directory for the counters of several workers; a single one keeps them in memory."""
    if os.environ.get(WORKERS, "1") == "1":
        os.environ.pop(COUNTERS, None)
        yield
        return
    folder = Path(os.environ[DATA]).absolute() / "counters" / os.environ[PORT]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ[COUNTERS] = str(folder)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(arguments: list[str], delete: Path | None) -> None:
    """Serve until granian has stopped; then return or raise SystemExit."""
    orphaned = threading.Event()
    threading.Thread(target=stop_when_orphaned, args=(orphaned,), daemon=True).start()
    sys.argv = ["granian", *arguments]
    try:
        with counters():
            runpy.run_module("granian", run_name="__main__")
    finally:
        if delete is not None and orphaned.is_set():
            shutil.rmtree(delete, ignore_errors=True)


def main(arguments: list[str]) -> None:
    """Split our own arguments from granian's and run."""
    split = arguments.index("--")
    own = arguments[:split]
    run(arguments[split + 1 :], Path(own[1]) if own[:1] == ["--delete"] else None)


if __name__ == "__main__":
    main(sys.argv[1:])
