"""Threads that do periodic work in a process that serves, from its start until its end."""

from __future__ import annotations

import logging
import signal
import threading
from contextlib import contextmanager
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TICK_SECONDS = 5.0

logger = logging.getLogger(__name__)


class PeriodicThread:
    """Calls `tick` every few seconds on a daemon thread. A failing tick is logged."""

    def __init__(self, tick: Callable[[], object], *, every_seconds: float = TICK_SECONDS) -> None:
        self._tick = tick
        self._every_seconds = every_seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="housekeeping", daemon=True)

    def start(self) -> None:
        """Tick once now, and then regularly."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread. No tick runs afterwards."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._tick()
            except Exception:  # the next tick must run all the same: epochs have to close
                logger.exception("housekeeping failed; retrying in %s s", self._every_seconds)
            self._stopped.wait(self._every_seconds)


@contextmanager
def default_sigterm() -> Iterator[None]:
    """Let SIGTERM end a process that does not serve yet: its work needs no orderly end.

    A forked worker has its parent's handler until it serves. Otherwise the signal would be lost,
    and the server would wait for this worker until it kills it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def start_threads(*threads: PeriodicThread, finish: Callable[[], None]) -> None:
    """Run these threads until the process ends, then stop them and call `finish`."""

    def end() -> None:
        for thread in threads:
            thread.stop()
        finish()

    # This also runs when a worker process exits, unlike atexit.
    Finalize(None, end, exitpriority=10)
    for thread in threads:
        thread.start()
