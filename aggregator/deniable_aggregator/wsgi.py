"""The way in for WSGI servers: one process, one service, two threads that keep house.

    granian --interface wsgi --factory deniable_aggregator.wsgi:app
    gunicorn "deniable_aggregator.wsgi:app()"

Importing this module opens nothing; calling `app` does. Servers that want an object instead of a
factory find it under the name `application`.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from deniable_aggregator.service import Service

__all__ = ["ACCESS_LOG_FORMAT", "Housekeeping", "app", "kept"]

ACCESS_LOG_FORMAT = "%(method)s %(path).200r %(status)d %(dt_ms).1f ms"
"""Holds no address, no query string and no time (the epoch is the only time a report has).

The path is quoted (`r`) and cut: no line break in it forges a line, no long one floods the log.
"""

TICK_SECONDS = 5.0
LOOK_SECONDS = 1.0

logger = logging.getLogger(__name__)


class Housekeeping:
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
def ended_at_once() -> Iterator[None]:
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


@cache
def app() -> Flask:
    """The one application of this process, from the environment (DENIABLE_DATA, …)."""
    with ended_at_once():
        return _opened()


def _opened() -> Flask:
    from deniable_aggregator.process.awaiting import once_available
    from deniable_aggregator.service import Service
    from deniable_aggregator.settings import Settings
    from deniable_aggregator.tracing.exporting import tracer_from_environment

    settings, tracer = Settings.load(), tracer_from_environment()
    return kept(once_available(lambda: Service.open(settings, tracer=tracer)))


def kept(service: Service) -> Flask:
    """The application of a service, with threads that keep house until this process ends."""
    from deniable_aggregator.app import create_app
    from deniable_aggregator.process.main_thread import wake_main_thread_to_end

    created = create_app(service)
    bodies = created.extensions["deniable_bodies"]
    threads = (
        Housekeeping(service.tick),
        Housekeeping(bodies.cut_off, every_seconds=LOOK_SECONDS),
    )

    def finish() -> None:
        for thread in threads:
            thread.stop()
        service.close()
        service.tracer.close()

    # Runs at exit of a worker process too, where atexit does not.
    Finalize(None, finish, exitpriority=10)
    for thread in threads:
        thread.start()
    wake_main_thread_to_end()
    return created


def __getattr__(name: str) -> Flask:
    if name == "application":
        return app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
