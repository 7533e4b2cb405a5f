"""Run granian until it is told to stop, or until whoever started it is gone.

`python -m deniable_aggregator.process.launcher [--delete DIRECTORY] -- GRANIAN ARGUMENTS`. Only the
starter holds the other end of standard input, a pipe: when the starter dies, however it dies, the
pipe closes, the server drains, and the directory of a demonstration is deleted.
"""

from __future__ import annotations

import os
import runpy
import shutil
import signal
import sys
import threading
from pathlib import Path

STANDARD_INPUT = 0


def stop_when_orphaned(orphaned: threading.Event) -> None:
    """Wait for the starter's end of the pipe to close, then ask this process to drain."""
    while os.read(STANDARD_INPUT, 64):
        pass
    orphaned.set()
    os.kill(os.getpid(), signal.SIGTERM)


def run(arguments: list[str], delete: Path | None) -> None:
    """Serve; returns, or raises SystemExit, once granian has stopped."""
    orphaned = threading.Event()
    threading.Thread(target=stop_when_orphaned, args=(orphaned,), daemon=True).start()
    sys.argv = ["granian", *arguments]
    try:
        runpy.run_module("granian", run_name="__main__")
    finally:
        if delete is not None and orphaned.is_set():
            shutil.rmtree(delete, ignore_errors=True)


def main(arguments: list[str]) -> None:
    """Split our own arguments from granian's."""
    split = arguments.index("--")
    own = arguments[:split]
    run(arguments[split + 1 :], Path(own[1]) if own[:1] == ["--delete"] else None)


if __name__ == "__main__":
    main(sys.argv[1:])
