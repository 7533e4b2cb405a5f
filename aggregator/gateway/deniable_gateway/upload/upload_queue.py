"""The queue of complete uploads, and the one thread that stores them.

The thread takes all waiting uploads, opens and commits them together, and wakes their requests in
one call. While one batch is written, the next one gathers: the slower the disk, the larger the
batches. The front limits how much may wait.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from deniable_gateway.problem import Problem, jittered
from deniable_gateway.upload.gate import Arrival
from deniable_shared.wire.report import ReportStatus

if TYPE_CHECKING:
    from deniable_gateway.suspension import Suspension

BATCH_BYTES = 524_288
"""About 4,000 reports are stored at once, which limits how long the last one waits."""

BUSY_SECONDS = 0.002
"""Seconds that the next batch waits after a batch of several: more uploads follow, and one large
commit costs far less than two small ones. An upload that comes alone does not wait."""

RETRY_SECONDS = 5.0
REASON = "uploads"
DEAD = "the thread that stores uploads has ended: restart the service"

Outcome = list[ReportStatus] | Exception
"""The statuses of rejected reports, or why the whole request is refused."""
Take = Callable[[Sequence[Arrival]], Sequence[Outcome]]
"""Stores uploads. Returns an outcome for each, in order, once accepted reports are durable."""

Waiting = tuple[Arrival, "asyncio.Future[list[ReportStatus]]"]

logger = logging.getLogger(__name__)


def not_stored() -> Problem:
    """Return the Problem for uploads that are not durable. Sending again counts nothing twice."""
    return Problem(
        "unavailable", "the reports could not be stored", retry_after=jittered(RETRY_SECONDS)
    )


class UploadQueue:
    """Runs one thread, from the first upload until `stop`. `put` belongs to one event loop."""

    def __init__(
        self,
        take: Take,
        *,
        suspension: Suspension,
        window_seconds: float = 0.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Set up the queue. `window_seconds`: how long a batch gathers, if commits are expensive.

        `sleep` lets the thread wait.
        """
        self._take = take
        self._suspension = suspension
        self._window_seconds = window_seconds
        self._sleep = sleep
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._dead = False
        self._thread = threading.Thread(target=self._run, name="uploads", daemon=True)

    @property
    def waiting(self) -> int:
        """Uploads that wait, without those being stored."""
        return self._queue.qsize()

    async def put(self, arrival: Arrival) -> list[ReportStatus]:
        """Wait until the reports are durable. Returns the statuses of rejected reports.

        Raises Problem for the request as a whole.
        """
        if self._thread.ident is None:
            self._thread.start()
        future = asyncio.get_running_loop().create_future()
        self._queue.put((arrival, future))
        if self._dead:
            self._refuse_all()
        statuses: list[ReportStatus] = await future
        return statuses

    def stop(self) -> None:
        """Store the waiting uploads and end the thread."""
        self._queue.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        batch: list[Waiting] = []
        try:
            for batch in self._batches():
                _settle(batch, self._outcomes([arrival for arrival, _ in batch]))
        except BaseException:
            logger.exception("the thread that stores uploads ended")
            self._suspension.suspend(REASON, DEAD)
            self._dead = True
            _refuse(batch)
            self._refuse_all()

    def _outcomes(self, arrivals: Sequence[Arrival]) -> Sequence[Outcome]:
        try:
            return self._take(arrivals)
        except Exception:
            logger.exception("%d uploads failed", len(arrivals))
            return [not_stored() for _ in arrivals]

    def _batches(self) -> Iterator[list[Waiting]]:
        """Yield all waiting uploads, again and again, until None comes."""
        pause = self._window_seconds
        while (first := self._queue.get()) is not None:
            if pause:
                self._sleep(pause)
            batch = [first, *self._others(len(first[0].body))]
            yield batch
            pause = self._pause_after(batch)

    def _pause_after(self, batch: Sequence[Waiting]) -> float:
        """For how many seconds the next batch gathers; 0 if more wait than a batch can hold."""
        if sum(len(arrival.body) for arrival, _ in batch) >= BATCH_BYTES:
            return 0.0
        return self._window_seconds or (BUSY_SECONDS if len(batch) > 1 else 0.0)

    def _others(self, size: int) -> Iterator[Waiting]:
        """Yield waiting uploads up to the size of a batch."""
        while size < BATCH_BYTES:
            try:
                more = self._queue.get_nowait()
            except Empty:
                return
            if more is None:
                self._queue.put(None)
                return
            size += len(more[0].body)
            yield more

    def _refuse_all(self) -> None:
        with suppress(Empty):
            while (waiting := self._queue.get_nowait()) is not None:
                _refuse([waiting])


def _refuse(batch: Sequence[Waiting]) -> None:
    _settle(batch, [not_stored() for _ in batch])


def _settle(batch: Sequence[Waiting], outcomes: Sequence[Outcome]) -> None:
    futures = [future for _, future in batch]
    with suppress(RuntimeError, IndexError):  # the loop is closed: no request waits any more
        futures[0].get_loop().call_soon_threadsafe(_wake, futures, outcomes)


def _wake(
    futures: Sequence[asyncio.Future[list[ReportStatus]]], outcomes: Sequence[Outcome]
) -> None:
    """Set the results, on the loop. Requests that have gone away are skipped."""
    for future, outcome in zip(futures, outcomes, strict=True):
        if future.done():
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
