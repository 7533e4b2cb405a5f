"""The background thread: it runs the uploader at start-up, then about every 15 minutes.

It is a daemon thread. It starts when there is something to send, and again in a forked child.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from deniable_shared.randomness.coins import Coins

if TYPE_CHECKING:
    from collections.abc import Callable

_EVERY_SECONDS = 900
_JITTER_SECONDS = 180
_PATIENCE_SECONDS = 1.0


class Scheduler:
    """Calls `work` on its own thread. `work` must not raise."""

    def __init__(
        self,
        work: Callable[[], object],
        *,
        wait: Callable[[threading.Event, float], object] = threading.Event.wait,
    ) -> None:
        self._work = work
        self._wait = wait
        self._starting = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def ensure(self) -> None:
        """Start the thread unless it runs."""
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._start()

    def stop(self) -> None:
        """Ask the thread to end and wait one second. A request in progress may take longer."""
        self._stop.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_PATIENCE_SECONDS)

    def after_fork(self) -> None:
        """Reset a forked child: it has no thread, and the lock is free."""
        self._starting = threading.Lock()
        self._stop = threading.Event()
        self._thread = None

    def _start(self) -> None:
        self._stop = threading.Event()
        thread = threading.Thread(
            target=self._run, args=(self._stop,), name="deniable-upload", daemon=True
        )
        thread.start()
        self._thread = thread

    def _run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self._work()
            self._wait(stop, _next_wait())


def _next_wait() -> float:
    return _EVERY_SECONDS - _JITTER_SECONDS + Coins.system().below(2 * _JITTER_SECONDS + 1)
