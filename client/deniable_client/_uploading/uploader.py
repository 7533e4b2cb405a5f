"""Sends the queue. A wake-up sends one new report and three retries, a flush all that may be sent.

One run at a time: threads of a process take turns, processes take a lease. If a process dies during
a run, the worst result is a report sent twice under one id, which the aggregator counts once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deniable_client._state import installation, outbox
from deniable_client._state.installation import LEASE_SECONDS, ConsentGate
from deniable_client._state.outbox import OutboxRow
from deniable_client.errors import (
    ClientError,
    ClosedError,
    HaltedError,
    LogForkedError,
    RefusedError,
    RejectedError,
    StorageError,
    TransportError,
)
from deniable_client.outcome import FlushResult
from deniable_shared.randomness.coins import Coins
from deniable_shared.wire.replies import read_date

if TYPE_CHECKING:
    from deniable_client._state.state import State
    from deniable_client._uploading.sender import ReportSender, SendResult
    from deniable_client._uploading.timed_transport import TimedTransport
    from deniable_client._uploading.waiting import WaitingReports
    from deniable_shared.manifest.epochs import Clock

_NEW_A_WAKE_UP = 1
_RETRIES_A_WAKE_UP = 3
_WAKE_UP_SECONDS = 60.0
_CHECKPOINT_SECONDS = 0.2


@dataclass(slots=True)
class _Run:
    """The sums of a run."""

    sent: int = 0
    accepted: int = 0
    dropped: int = 0
    problems: list[ClientError] = field(default_factory=list)
    date: str = ""
    """The Date of the last reply by the aggregator itself."""

    def add(self, result: SendResult) -> None:
        """Add the result of one row."""
        self.sent += result.sent
        self.accepted += result.accepted
        self.dropped += result.dropped
        if result.problem is not None:
            self.problems.append(result.problem)
        self.date = result.date or self.date

    def drop_late(self, dropped: int) -> None:
        """Count reports that were dropped because their epoch closed before they could be sent."""
        self.dropped += dropped
        if dropped:
            what = f"{dropped} reports were not sent before their period closed, and are dropped"
            self.problems.append(RejectedError("epoch-closed", what))

    def result(self, waiting: WaitingReports | None) -> FlushResult:
        """Return the finished sums."""
        if waiting is None:
            return FlushResult(
                self.sent, self.accepted, self.dropped, 0, problems=tuple(self.problems)
            )
        return FlushResult(
            sent=self.sent,
            accepted=self.accepted,
            dropped=self.dropped,
            waiting=waiting.count,
            problems=tuple(self.problems),
            next_due=waiting.next_due,
            why="; ".join(filter(None, (waiting.why, waiting.advice))),
        )


_Choice = Callable[[list[OutboxRow], float], list[OutboxRow]]


class Uploader:
    """Uploads the queue of one state file.

    `stopped`: the aggregator rejects this process's messages. `failed`: the last attempt to reach
    the aggregator failed.
    """

    def __init__(
        self,
        state: State,
        *,
        timed: Callable[[Callable[[], None], float], TimedTransport],
        gate: ConsentGate,
        make_sender: Callable[[], ReportSender],
        record_defaults: Callable[[], object],
        clock: Clock,
    ) -> None:
        self._state = state
        self._timed = timed
        self._gate = gate
        self._make_sender = make_sender
        self._record_defaults = record_defaults
        self._sender: ReportSender | None = None
        self._clock = clock
        self._holder = os.urandom(16)
        self._leased_at: float | None = None
        self._run_lock = threading.Lock()
        self.stopped: bool = False
        self.failed: bool = False

    def after_fork(self) -> None:
        """Make a forked child an uploader of its own: no thread of the parent frees its lock."""
        self._holder = os.urandom(16)
        self._leased_at = None
        self._run_lock = threading.Lock()

    def wake_up(self) -> FlushResult:
        """Send one new report and at most three retries, of those that are due."""
        return self._run(_choose_for_wake_up, _WAKE_UP_SECONDS)

    def flush(self, timeout: float, *, early: bool) -> FlushResult:
        """Send every report that is due; with `early`, every one that the server did not defer."""
        return self._run(_choose_allowed if early else _choose_due, timeout)

    def release(self) -> None:
        """Let another process upload."""
        if self._leased_at is None:
            return
        self._leased_at = None
        with self._state.transaction() as db:
            installation.release_lease(db, self._holder)

    def _run(self, choose: _Choice, seconds: float) -> FlushResult:
        run = _Run()
        transport = self._timed(self._permit, seconds)
        if not self._run_lock.acquire(timeout=max(0.0, seconds)):
            run.problems.append(HaltedError("another thread is uploading"))
            return run.result(self._waiting(run))
        try:
            self._upload(run, transport, choose)
            self._state.checkpoint(patience_seconds=_CHECKPOINT_SECONDS)
        except ClosedError:
            pass
        except ClientError as error:
            run.problems.append(error)
        finally:
            self._run_lock.release()
        if any(isinstance(each, TransportError | RefusedError) for each in run.problems):
            self.failed = True
        elif run.sent:
            self.failed = False
        return run.result(self._waiting(run))

    def _upload(self, run: _Run, transport: TimedTransport, choose: _Choice) -> None:
        if not self._gate.open():
            if self._gate.forked:
                raise LogForkedError(self._gate.forked)
            if path := self._gate.opt_outs.unreadable():
                raise HaltedError(f"nothing is sent: the policy file {path} is not readable JSON")
            return
        self._record_defaults()
        if self.stopped:
            raise RejectedError("stopped", "the aggregator refused this version's messages")
        waiting = self._read_waiting(run)
        now = self._clock()
        in_time = [row for row in waiting if not row.late(now)]
        rows = choose(in_time, now)
        if rows:
            try:
                self._permit()
                self._send_rows(run, transport, rows)
            finally:
                self.release()
        if len(in_time) < len(waiting):
            self._judge_late(run)

    def _read_waiting(self, run: _Run) -> list[OutboxRow]:
        """Return the waiting rows, and drop those that are late for too long."""
        now = self._clock()
        with self._state.reading() as db:
            rows = outbox.waiting_rows(db)
        if not any(row.late(now) or row.was_late for row in rows):
            return rows
        with self._state.transaction() as db:
            run.drop_late(outbox.watch_late(db, now))
            return outbox.waiting_rows(db)

    def _judge_late(self, run: _Run) -> None:
        """Drop rows that are late by the aggregator's clock, too; keep those late only here.

        The Date of the aggregator's reply decides nothing else.
        """
        date = read_date(run.date)
        if date is not None:
            with self._state.transaction() as db:
                run.drop_late(outbox.judge_late(db, now=self._clock(), date=date))

    def _send_rows(self, run: _Run, transport: TimedTransport, rows: Sequence[OutboxRow]) -> None:
        self._sender = sender = self._sender or self._make_sender()
        for row in rows:
            if transport.left <= 0 or not self._gate.open():
                return
            result = sender.send(row, transport)
            run.add(result)
            if result.stop:
                self.stopped = True
                return

    def _permit(self) -> None:
        """Raise HaltedError if sending is not allowed now, or another process uploads."""
        if not self._gate.open():
            raise HaltedError(f"uploading was stopped: {self._gate.pause()}")
        now = self._clock()
        if self._leased_at is not None and 0 <= now - self._leased_at < LEASE_SECONDS / 3:
            return
        with self._state.transaction() as db:
            if not installation.take_lease(db, self._holder, now):
                raise HaltedError(
                    "another process is uploading; if it died, its lease ends within "
                    f"{LEASE_SECONDS:.0f} s"
                )
        self._leased_at = now

    def _waiting(self, run: _Run) -> WaitingReports | None:
        try:
            with self._state.reading() as db:
                rows = outbox.waiting_rows(db)
        except StorageError as error:
            if not isinstance(error, ClosedError):
                run.problems.append(error)
            rows = []
        if not rows:
            return None
        from deniable_client._uploading.waiting import explain_waiting  # only if reports wait

        refused = "the service refuses the messages of this version" if self.stopped else None
        return explain_waiting(
            rows, self._clock(), self._gate.pause() or refused, failed=self.failed
        )


def _choose_allowed(rows: list[OutboxRow], now: float) -> list[OutboxRow]:
    return _shuffle([row for row in rows if row.allowed(now)])


def _choose_due(rows: list[OutboxRow], now: float) -> list[OutboxRow]:
    return _shuffle([row for row in rows if row.due(now)])


def _choose_for_wake_up(rows: list[OutboxRow], now: float) -> list[OutboxRow]:
    due = _choose_due(rows, now)
    new = [row for row in due if row.attempts == 0]
    retries = [row for row in due if row.attempts > 0]
    return _shuffle(new[:_NEW_A_WAKE_UP] + retries[:_RETRIES_A_WAKE_UP])


def _shuffle(rows: list[OutboxRow]) -> list[OutboxRow]:
    """Return the rows in an order that does not depend on when they were recorded."""
    coins = Coins.system()
    for last in range(len(rows) - 1, 0, -1):
        other = coins.below(last + 1)
        rows[last], rows[other] = rows[other], rows[last]
    return rows
