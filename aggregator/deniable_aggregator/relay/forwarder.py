"""Sends closed batches to the aggregator: shuffled, many reports a request, until each is settled.

Report and answer are settled in one transaction after the answer, so a kill between them sends a
report again; the aggregator counts an id once. What the aggregator asks to bring later is kept and
every waiting stops for a while, the longer the oftener it happens in a row.

Reports are settled only by the aggregator's own reply: its 200, or its `collection-closed`. Any
other reply, 404 too, keeps them until their epoch is over.
"""

from __future__ import annotations

import logging
import math
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from deniable_aggregator.problem import jittered
from deniable_aggregator.relay.mirror import Notices
from deniable_aggregator.relay.queue import Group, Queue
from deniable_shared.epochs import Clock, closes_at
from deniable_shared.problems import ReportError
from deniable_shared.replies import field_of, read_problem, read_statuses
from deniable_shared.report import MAX_REPORTS, MAX_UPLOAD_BYTES, ReportStatus

BASE_SECONDS, CAP_SECONDS = 5.0, 900.0
GONE = "collection-closed"
UNKNOWN = "unknown-collection"
KEPT = frozenset({ReportError.TOO_EARLY, ReportError.TOKEN_REQUIRED, ReportError.TOKEN_INVALID})
"""Codes that say nothing against the report: the relay's clock or token is wrong."""

logger = logging.getLogger(__name__)
_random = secrets.SystemRandom()


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, body and header fields of a reply; status 0 where there was none."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def problem(self) -> str:
        """The name of the problem that the aggregator itself reports; "" if there is none."""
        found = read_problem(self.status, self.headers, self.body)
        return "" if found is None else found.slug

    @property
    def failed(self) -> list[ReportStatus] | None:
        """The reports that were not accepted; None if this is not the aggregator's own 200."""
        return read_statuses(self.status, self.headers, self.body)

    @property
    def retry_after(self) -> float:
        """Retry-After in seconds; 0 without one."""
        wait = field_of(self.headers, "retry-after")
        return float(wait[:9]) if wait.isascii() and wait.isdigit() else 0.0


Post = Callable[[str, bytes], Answer]
"""Sends a body to the uploads of a collection, with the relay's token."""


class Forwarder:
    """One run at a time: `run` is called again and again by one thread."""

    def __init__(self, queue: Queue, post: Post, *, batch: int, clock: Clock) -> None:
        self._queue = queue
        self._post = post
        self._least = batch
        self._clock = clock
        self._failures = 0
        self._not_before = -math.inf

    def run(self, notices: Notices) -> None:
        """Forget epochs that are over, close batches, send what is closed."""
        self._forget(notices)
        self._queue.close_batches(self._least)
        if self._clock() < self._not_before:
            return
        groups = self._queue.batches()
        _random.shuffle(groups)  # one that is refused for ever does not stand before the others
        settled = True
        for group in groups:
            answer = self._send(group)
            settled = settled and answer is None
            if answer is not None and answer.problem != UNKNOWN:
                return
        if settled:
            self._failures = 0

    def _forget(self, notices: Notices) -> None:
        now = self._clock()
        for collection, epoch in self._queue.epochs():
            known = notices.collections.get(collection)
            if known is None:
                continue
            newest = known.newest
            if now > closes_at(epoch, newest.epoch_seconds, newest.grace_seconds):
                self._queue.forget(collection, epoch)

    def _send(self, group: Group) -> Answer | None:
        """Send a batch until an answer leaves reports of it waiting: that answer, or None."""
        ids = self._queue.members(group.batch)
        _random.shuffle(ids)
        for part in _parts(ids, group.size):
            body = b"".join(self._queue.report(group, report_id) for report_id in part)
            answer = self._post(group.collection, body)
            if not self._settled(group, part, answer):
                return answer
        return None

    def _settled(self, group: Group, part: Sequence[bytes], answer: Answer) -> bool:
        if answer.problem == GONE:
            self._queue.settle(group, part, {f"refused: {GONE}": len(part)})
            return True
        failed = answer.failed
        if failed is None or not {status.report_id for status in failed} <= set(part):
            return self._later(answer.problem or f"HTTP {answer.status}", answer.retry_after)
        kept = {status.report_id for status in failed if status.error in KEPT}
        refused = Counter(
            f"refused: {_slug(status.error)}" for status in failed if status.error not in KEPT
        )
        done = [report_id for report_id in part if report_id not in kept]
        self._queue.settle(group, done, {"forwarded": len(done) - refused.total(), **refused})
        if kept:
            return self._later(_slug(failed[0].error), 0.0)
        return True

    def _later(self, why: str, retry_after: float) -> bool:
        self._failures += 1
        grown = min(CAP_SECONDS, BASE_SECONDS * 2 ** min(self._failures, 16))
        wait = jittered(max(grown / 2, min(retry_after, CAP_SECONDS)))
        self._not_before = self._clock() + wait
        logger.warning("the aggregator takes no reports (%s); again in %.0f s", why, wait)
        return False


def _parts(ids: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    """As many reports a request as PROTOCOL allows."""
    step = max(1, min(MAX_REPORTS, MAX_UPLOAD_BYTES // size))
    for start in range(0, len(ids), step):
        yield ids[start : start + step]


def _slug(code: int) -> str:
    return ReportError(code).slug if code in set(ReportError) else f"code-0x{code:02x}"
