"""Runs a tally on processes of this machine; each opens whole blocks and returns sums."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, get_context, parent_process
from typing import TYPE_CHECKING

from deniable_aggregator.base.errors import ScaleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

AHEAD = 2
"""Blocks for each process at a time: no process waits, and results do not pile up."""


class LocalEngine:
    """`processes` of this machine."""

    def __init__(self, processes: int | None = None) -> None:
        self.processes = processes or os.cpu_count() or 1

    def __call__(self, work: Callable[[str], bytes], names: Sequence[str]) -> Iterator[bytes]:
        """The result of `work` for every name, in order. Raises ScaleError if a worker dies."""
        pool = ProcessPoolExecutor(
            min(self.processes, len(names)) or 1,
            mp_context=get_context("spawn"),
            initializer=_serve,
        )
        try:
            waiting: deque[Future[bytes]] = deque()
            for name in names:
                waiting.append(pool.submit(work, name))
                if len(waiting) >= AHEAD * self.processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise ScaleError(
                "a worker process died: run the same command again; counted reports stay, and "
                "count once"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _serve() -> None:
    """Leave Ctrl-C to the parent, and end when the parent ends in any way."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
