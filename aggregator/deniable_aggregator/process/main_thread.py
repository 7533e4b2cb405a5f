"""A signal that ends a worker reaches its main thread, whichever thread the system gave it to.

A SIGTERM is for the process. Linux wakes the main thread for it, but another one that is just being
started, or changes its mask, may come first and take it; on a busy machine it does. Python then
notes the signal and runs the handler once the main thread runs. The main thread of a worker of
granian waits for a lock that only the handler releases, and nothing wakes it: the worker serves on
until the server, at its limit, kills it. So the signal is sent again, to the main thread alone.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from multiprocessing import parent_process

__all__ = ["pass_signals_to_main_thread"]

ENDING = (signal.SIGTERM, signal.SIGINT)
TIMES, PAUSE_SECONDS = 3, 0.2
"""It may have looked for signals just before one came, and wait a moment later: not twice."""


def pass_signals_to_main_thread() -> None:
    """From now on, in a worker process; elsewhere signals are not ours."""
    main = threading.current_thread() is threading.main_thread()
    if parent_process() is None or not main:
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    ident = threading.get_ident()
    threading.Thread(target=_pass_on, args=(reading, ident), name="signals", daemon=True).start()


def _pass_on(reading: int, main: int) -> None:
    """The first that ends it: what follows on the pipe are its own repetitions."""
    number = 0
    while number not in ENDING:
        [number] = os.read(reading, 1)
    for _ in range(TIMES):
        signal.pthread_kill(main, number)
        time.sleep(PAUSE_SECONDS)
