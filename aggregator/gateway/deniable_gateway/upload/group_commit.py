"""Group commit: whoever finds no commit under way commits for all that wait; others wait for it.

Nobody returns before the commit that holds their reports is durable. While one batch is on its way
to the disk the next one gathers, so the slower the disk, the larger the batches. Where a commit is
dear the leader also waits for others before it begins: see `BatchWindow`.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from deniable_gateway.problem import Problem, jittered

A = TypeVar("A")
V = TypeVar("V")

MAX_BATCH = 4_000
"""Reports in one transaction: bounds how long the last to wait has to wait."""

RETRY_SECONDS = 5.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BatchWindow:
    """Begin a commit once so many submissions wait, or after so many seconds."""

    submissions: int
    seconds: float


class _Ticket(Generic[A, V]):
    """One submission on its way; `turn` is released when it is settled or its holder is to lead."""

    __slots__ = ("error", "leads", "reports", "statuses", "turn")

    def __init__(self, reports: Sequence[A]) -> None:
        self.reports = reports
        self.statuses: list[V] | None = None
        self.error: BaseException | None = None
        self.leads = False
        self.turn = threading.Lock()
        self.turn.acquire()


class GroupCommit(Generic[A, V]):
    """Many threads submit, one at a time commits. Keeps no thread of its own."""

    def __init__(
        self,
        commit: Callable[[Sequence[A]], list[V]],
        *,
        max_waiting: int = 50_000,
        window: BatchWindow | None = None,
    ) -> None:
        """`commit` gives a status for each report of a batch once they are durable.

        `max_waiting` bounds those that wait besides a batch that is being committed.
        """
        self._commit_reports = commit
        self._max_waiting = max_waiting
        self._window = window
        self._lock = threading.Lock()
        self._entered = threading.Condition(self._lock)
        self._queue: deque[_Ticket[A, V]] = deque()
        self._waiting = 0
        self._busy = False

    @property
    def waiting(self) -> int:
        """Reports that wait besides those being committed."""
        return self._waiting

    def require_room(self) -> None:
        """Problem("unavailable") when too much waits: cheaper to say before reports are opened."""
        if self._waiting > self._max_waiting:
            raise self._full()

    def submit(self, reports: Sequence[A]) -> list[V]:
        """One status for each report, once they are durable.

        Problem("unavailable") when too much waits, and when the commit failed: then nothing of the
        batch was counted, or, if only its last sync failed, counting it again changes nothing.
        """
        if not reports:
            return []
        ticket: _Ticket[A, V] = _Ticket(reports)
        if not self._enter(ticket):
            self._wait(ticket)
        if ticket.leads:
            self._lead()
        if ticket.statuses is None:
            raise Problem(
                "unavailable",
                "the reports could not be stored",
                retry_after=jittered(RETRY_SECONDS),
            ) from ticket.error
        return ticket.statuses

    def _enter(self, ticket: _Ticket[A, V]) -> bool:
        """Queue the ticket; True if its holder leads."""
        with self._lock:
            if self._waiting and self._waiting + len(ticket.reports) > self._max_waiting:
                raise self._full()
            self._queue.append(ticket)
            self._waiting += len(ticket.reports)
            ticket.leads = not self._busy
            self._busy = True
            self._entered.notify()
            return ticket.leads

    def _full(self) -> Problem:
        return Problem(
            "unavailable",
            f"{self._waiting} reports wait for the disk, at most {self._max_waiting} may",
            retry_after=jittered(RETRY_SECONDS),
        )

    def _wait(self, ticket: _Ticket[A, V]) -> None:
        try:
            ticket.turn.acquire()
        except BaseException:  # an interrupted waiter must not inherit the lead, nor drop it
            self._leave(ticket)
            raise

    def _leave(self, ticket: _Ticket[A, V]) -> None:
        with self._lock:
            if ticket in self._queue and not ticket.leads:
                self._queue.remove(ticket)
                self._waiting -= len(ticket.reports)
        if ticket.leads:
            self._lead()

    def _lead(self) -> None:
        """Commit the front of the queue, one's own ticket first; hand on to who waits longest."""
        try:
            self._wait_for_more()
        finally:  # a leader that is interrupted must not leave the others without one
            self._commit_front()

    def _wait_for_more(self) -> None:
        window = self._window
        if window is not None:
            with self._lock:
                self._entered.wait_for(
                    lambda: len(self._queue) >= window.submissions, window.seconds
                )

    def _commit_front(self) -> None:
        batch = self._take()
        try:
            self._commit(batch)
        finally:
            with self._lock:
                heirs = list(self._queue)[:1]
                self._busy = bool(heirs)
                for heir in heirs:
                    heir.leads = True
            for ticket in heirs + batch[1:]:
                ticket.turn.release()

    def _take(self) -> list[_Ticket[A, V]]:
        with self._lock:
            batch = [self._queue.popleft()]
            size = len(batch[0].reports)
            while self._queue and size + len(self._queue[0].reports) <= MAX_BATCH:
                batch.append(self._queue.popleft())
                size += len(batch[-1].reports)
            self._waiting -= size
            return batch

    def _commit(self, batch: list[_Ticket[A, V]]) -> None:
        reports = [report for ticket in batch for report in ticket.reports]
        try:
            statuses = iter(self._commit_reports(reports))
        except BaseException as error:
            logger.exception("a commit of %d reports failed", len(reports))
            for ticket in batch:
                ticket.error = error
            if not isinstance(error, Exception):
                raise
            return
        for ticket in batch:
            ticket.statuses = [next(statuses) for _ in ticket.reports]
