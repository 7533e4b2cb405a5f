"""Sends closed batches to the aggregator: shuffled, many reports a request, until each is settled.

Reports are settled in one transaction after the reply. If the relay is killed in between, it sends
a report again, and the aggregator counts an id once. Reports that the aggregator defers are kept.
Every deferral pauses the forwarder, longer each time in a row.

Only the aggregator's own reply settles reports: its 200, or its `collection-closed`. After any
other reply, 404 too, they are kept until their epoch is over.
"""

from __future__ import annotations

import logging
import math
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_gateway.problem import jittered
from deniable_shared.manifest.epochs import Clock, closes_at
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.replies import header_field, read_problem, read_statuses
from deniable_shared.wire.report import MAX_REPORTS, MAX_UPLOAD_BYTES, ReportStatus

if TYPE_CHECKING:
    from deniable_gateway.relay.queue import Batch, ReportQueue
    from deniable_gateway.upload.mirror import Mirror

BASE_SECONDS, CAP_SECONDS = 5.0, 900.0
GONE = "collection-closed"
UNKNOWN = "unknown-collection"
KEPT = frozenset({ReportError.TOO_EARLY, ReportError.TOKEN_REQUIRED, ReportError.TOKEN_INVALID})
"""Codes that do not concern the report: the relay's clock or token is wrong."""

logger = logging.getLogger(__name__)
_random = secrets.SystemRandom()


@dataclass(frozen=True, slots=True)
class UpstreamReply:
    """Status, body and header fields of a reply; status 0 if there was none."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def problem(self) -> str:
        """The name of the problem that the aggregator itself reports; "" if there is none."""
        problem = read_problem(self.status, self.headers, self.body)
        return "" if problem is None else problem.slug

    @property
    def failed(self) -> list[ReportStatus] | None:
        """The reports that were rejected; None if this is not the aggregator's own 200."""
        return read_statuses(self.status, self.headers, self.body)

    @property
    def retry_after(self) -> float:
        """Retry-After in seconds; 0 without one."""
        wait = header_field(self.headers, "retry-after")
        return float(wait[:9]) if wait.isascii() and wait.isdigit() else 0.0


Post = Callable[[str, bytes], UpstreamReply]
"""Sends a body to the uploads of a collection, with the relay's token."""


class Forwarder:
    """Forwards batches. One thread calls `run` again and again."""

    def __init__(self, queue: ReportQueue, post: Post, *, min_batch: int, clock: Clock) -> None:
        self._queue = queue
        self._post = post
        self._min_batch = min_batch
        self._clock = clock
        self._failures = 0
        self._not_before = -math.inf

    def run(self, mirror: Mirror) -> None:
        """Forget epochs that are over, close batches, send closed batches."""
        self._forget(mirror)
        self._queue.close_batches(self._min_batch)
        if self._clock() < self._not_before:
            return
        batches = self._queue.batches()
        _random.shuffle(batches)  # a batch that is always refused must not block the others
        settled = True
        for batch in batches:
            reply = self._send(batch)
            settled = settled and reply is None
            if reply is not None and reply.problem != UNKNOWN:
                return
        if settled:
            self._failures = 0

    def _forget(self, mirror: Mirror) -> None:
        now = self._clock()
        for collection, epoch in self._queue.epochs():
            mirrored = mirror.collections.get(collection)
            if mirrored is None:
                continue
            newest = mirrored.newest
            if now > closes_at(epoch, newest.epoch_seconds, newest.grace_seconds):
                self._queue.forget(collection, epoch)

    def _send(self, batch: Batch) -> UpstreamReply | None:
        """Send a batch until a reply leaves some of its reports waiting.

        Return that reply or None.
        """
        ids = self._queue.report_ids(batch.number)
        _random.shuffle(ids)
        for part in _parts(ids, batch.size):
            body = b"".join(self._queue.report(batch, report_id) for report_id in part)
            reply = self._post(batch.collection, body)
            if not self._settle(batch, part, reply):
                return reply
        return None

    def _settle(self, batch: Batch, part: Sequence[bytes], reply: UpstreamReply) -> bool:
        if reply.problem == GONE:
            self._queue.settle(batch, part, {f"refused: {GONE}": len(part)})
            return True
        failed = reply.failed
        if failed is None or not {status.report_id for status in failed} <= set(part):
            return self._back_off(reply.problem or f"HTTP {reply.status}", reply.retry_after)
        kept = {status.report_id for status in failed if status.error in KEPT}
        refused = Counter(
            f"refused: {_slug(status.error)}" for status in failed if status.error not in KEPT
        )
        done = [report_id for report_id in part if report_id not in kept]
        self._queue.settle(batch, done, {"forwarded": len(done) - refused.total(), **refused})
        if kept:
            return self._back_off(_slug(failed[0].error), 0.0)
        return True

    def _back_off(self, why: str, retry_after: float) -> bool:
        self._failures += 1
        grown = min(CAP_SECONDS, BASE_SECONDS * 2 ** min(self._failures, 16))
        wait = jittered(max(grown / 2, min(retry_after, CAP_SECONDS)))
        self._not_before = self._clock() + wait
        logger.warning("the aggregator takes no reports (%s); retrying in %.0f s", why, wait)
        return False


def _parts(ids: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    """Split ids into requests of the size that PROTOCOL allows."""
    step = max(1, min(MAX_REPORTS, MAX_UPLOAD_BYTES // size))
    for start in range(0, len(ids), step):
        yield ids[start : start + step]


def _slug(code: int) -> str:
    return ReportError(code).slug if code in set(ReportError) else f"code-0x{code:02x}"
