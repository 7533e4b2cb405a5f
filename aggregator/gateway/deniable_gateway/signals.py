"""A signal that ends a worker reaches its main thread, whichever thread the system gave it to.

A SIGTERM is for the process. Linux wakes the main thread for it, but another one that is just being
started, or changes its mask, may come first and take it; on a busy machine it does. Python then
notes the signal and runs the handler once the main thread runs. The main thread of a worker of
granian waits for a lock that only the handler releases, and nothing wakes it: the worker serves on
until the server, at its limit, kills it.

So the main thread alone is sent another signal, for which there is nothing to do but to wake. The
same one again would not do: granian's handler, run three times, waits for ever.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from multiprocessing import parent_process

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
