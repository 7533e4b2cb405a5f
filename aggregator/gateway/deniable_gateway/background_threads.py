"""Threads that work regularly in a process that serves, from its start until its end.

A signal that ends a worker reaches its main thread, whichever thread the system gave it to.
A SIGTERM is for the process. Linux wakes the main thread for it, but another one that is just being
started, or changes its mask, may come first and take it; on a busy machine it does. Python then
notes the signal and runs the handler once the main thread runs. The main thread of a worker of
granian waits for a lock that only the handler releases, and nothing wakes it: the worker serves on
until the server, at its limit, kills it.

So the main thread alone is sent another signal, for which there is nothing to do but to wake. The
same one again would not do: granian's handler, run three times, waits for ever.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from multiprocessing.util import Finalize

TICK_SECONDS = 5.0
LOOK_SECONDS = 1.0
"""How often a server looks for bodies that come too slowly."""

logger = logging.getLogger(__name__)


class PeriodicThread:
    """Calls `tick` every few seconds on a daemon thread. A failing tick is logged."""

    def __init__(self, tick: Callable[[], object], *, every_seconds: float = TICK_SECONDS) -> None:
        self._tick = tick
        self._every_seconds = every_seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="housekeeping", daemon=True)

    def start(self) -> None:
        """Tick once now and then regularly."""
        self._thread.start()

    def stop(self) -> None:
        """Return once no tick runs and none will."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._tick()
            except Exception:  # whatever broke this tick, the next epoch still has to close
                logger.exception("housekeeping failed; it tries again in %s s", self._every_seconds)
            self._stopped.wait(self._every_seconds)


@contextmanager
def default_sigterm() -> Iterator[None]:
    """SIGTERM ends a process that does not serve yet; nothing of what it does needs an orderly end.

    A forked worker has its parent's handler until it serves: the signal would be lost, and the
    server would wait for this worker until it kills it.
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
    """Run these until the process ends; then stop them and call `finish`."""

    def end() -> None:
        for thread in threads:
            thread.stop()
        finish()

    # Runs at exit of a worker process too, where atexit does not.
    Finalize(None, end, exitpriority=10)
    for thread in threads:
        thread.start()
    wake_main_thread_on_exit()


ENDING = (signal.SIGTERM, signal.SIGINT)
WAKING = signal.SIGURG
"""One that does nothing where nobody handles it."""

TIMES, PAUSE_SECONDS = 3, 0.2
"""It may have looked for signals just before one came, and wait a moment later: not twice."""


def wake_main_thread_on_exit() -> None:
    """From now on, in the main thread of a worker; elsewhere signals are not ours."""
    if parent_process() is None or threading.current_thread() is not threading.main_thread():
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(WAKING, lambda _number, _frame: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    ident = threading.get_ident()
    threading.Thread(target=_watch, args=(reading, ident), name="signals", daemon=True).start()


def _watch(reading: int, main: int) -> None:
    """The system writes the number of a signal there, whichever thread it was given to."""
    number = 0
    while number not in ENDING:
        [number] = os.read(reading, 1)
    for _ in range(TIMES):
        signal.pthread_kill(main, WAKING)
        time.sleep(PAUSE_SECONDS)
