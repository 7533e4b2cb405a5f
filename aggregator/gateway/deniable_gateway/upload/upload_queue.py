"""Uploads that have come whole wait here for the one thread that stores them.

The thread takes all that wait, opens and commits them together, and wakes their requests in one
call. While one batch is on its way to the disk the next one gathers: the slower the disk, the
larger the batches. How much may wait is bounded where requests are let in.
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
"""No more than some 4,000 reports are stored at once: bounds how long the last one waits."""

BUSY_SECONDS = 0.002
"""After a batch of several the next one waits so long: others are on their way, and one large
commit costs far less than two small ones. An upload that comes alone does not wait."""

RETRY_SECONDS = 5.0
REASON = "uploads"
DEAD = "the thread that stores uploads has ended: restart the service"

Outcome = list[ReportStatus] | Exception
"""The statuses of reports that were not accepted, or why the whole request is refused."""
Take = Callable[[Sequence[Arrival]], Sequence[Outcome]]
"""Stores uploads; an outcome for each, in their order, once what was accepted is durable."""

Waiting = tuple[Arrival, "asyncio.Future[list[ReportStatus]]"]

logger = logging.getLogger(__name__)


def not_stored() -> Problem:
    """To those of whom nothing is durable; sending again counts nothing twice."""
    return Problem(
        "unavailable", "the reports could not be stored", retry_after=jittered(RETRY_SECONDS)
    )


class UploadQueue:
    """One thread, from the first upload until `stop`. `put` belongs to one event loop."""

    def __init__(
        self,
        take: Take,
        *,
        suspension: Suspension,
        window_seconds: float = 0.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`window_seconds`: how long the first of a batch waits for others, where commits are dear.

        `sleep` is how the thread lets time pass.
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
        """Uploads that wait besides those being stored."""
        return self._queue.qsize()

    async def put(self, arrival: Arrival) -> list[ReportStatus]:
        """The statuses of reports that were not accepted, once the others are durable.

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
        """Return once what waits is stored and the thread has ended."""
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
        """All that wait, again and again, until None comes."""
        pause = self._window_seconds
        while (first := self._queue.get()) is not None:
            if pause:
                self._sleep(pause)
            batch = [first, *self._others(len(first[0].body))]
            yield batch
            pause = self._pause_after(batch)

    def _pause_after(self, batch: Sequence[Waiting]) -> float:
        """How long the next batch gathers; not at all where more waits than one can hold."""
        if sum(len(arrival.body) for arrival, _ in batch) >= BATCH_BYTES:
            return 0.0
        return self._window_seconds or (BUSY_SECONDS if len(batch) > 1 else 0.0)

    def _others(self, size: int) -> Iterator[Waiting]:
        """Those that wait, up to the size of a batch."""
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
    with suppress(RuntimeError, IndexError):  # the loop is closed: nobody waits any more
        futures[0].get_loop().call_soon_threadsafe(_wake, futures, outcomes)


def _wake(
    futures: Sequence[asyncio.Future[list[ReportStatus]]], outcomes: Sequence[Outcome]
) -> None:
    """On the loop: one whose request has gone away is passed over."""
    for future, outcome in zip(futures, outcomes, strict=True):
        if future.done():
            continue
        if isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)
