"""Sends closed batches to the aggregator: shuffled, many reports a request, until each is settled.

Report and answer are settled in one transaction after the answer, so a kill between them sends a
report again; the aggregator counts an id once. What the aggregator asks to bring later is kept and
every waiting stops for a while, the longer the oftener it happens in a row.
"""

from __future__ import annotations

import logging
import math
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from deniable_aggregator.problem import jittered
from deniable_aggregator.relay.notices import Notices
from deniable_aggregator.relay.queue import Group, Queue
from deniable_shared.epochs import Clock, closes_at
from deniable_shared.errors import DecodeError
from deniable_shared.problems import ReportError
from deniable_shared.report import MAX_REPORTS, MAX_UPLOAD_BYTES, ReportStatus, decode_errors

__all__ = ["Answer", "Forwarder", "Post"]

BASE_SECONDS, CAP_SECONDS = 5.0, 900.0
GONE = (404, 410)
KEPT = frozenset({ReportError.TOO_EARLY, ReportError.TOKEN_REQUIRED, ReportError.TOKEN_INVALID})
"""Codes that say nothing against the report: the relay's clock or token is wrong."""

logger = logging.getLogger(__name__)
_random = secrets.SystemRandom()


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, body and Retry-After in seconds; status 0 where there was no answer."""

    status: int
    body: bytes = b""
    retry_after: float | None = None


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
        for group in groups:
            if not self._send(group):
                return
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

    def _send(self, group: Group) -> bool:
        """Whether the whole batch is settled."""
        ids = self._queue.members(group.batch)
        _random.shuffle(ids)
        for part in _parts(ids, group.size):
            body = b"".join(self._queue.report(group, id) for id in part)
            answer = self._post(group.collection, body)
            if not self._settled(group, part, answer):
                return False
        return True

    def _settled(self, group: Group, part: Sequence[bytes], answer: Answer) -> bool:
        if answer.status in GONE:
            self._queue.settle(group, part, {"refused: collection-closed": len(part)})
            return True
        failed = _failed(answer)
        if failed is None:
            return self._later(f"HTTP {answer.status}", answer.retry_after)
        kept = {status.report_id for status in failed if status.error in KEPT}
        refused = Counter(
            f"refused: {_slug(status.error)}" for status in failed if status.error not in KEPT
        )
        done = [id for id in part if id not in kept]
        self._queue.settle(group, done, {"forwarded": len(done) - refused.total(), **refused})
        if kept:
            return self._later(_slug(failed[0].error), None)
        return True

    def _later(self, why: str, retry_after: float | None) -> bool:
        self._failures += 1
        grown = min(CAP_SECONDS, BASE_SECONDS * 2 ** min(self._failures, 16))
        wait = jittered(max(grown / 2, min(retry_after or 0.0, CAP_SECONDS)))
        self._not_before = self._clock() + wait
        logger.warning("the aggregator takes no reports (%s); again in %.0f s", why, wait)
        return False


def _parts(ids: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    """As many reports a request as PROTOCOL allows."""
    step = max(1, min(MAX_REPORTS, MAX_UPLOAD_BYTES // size))
    for start in range(0, len(ids), step):
        yield ids[start : start + step]


def _failed(answer: Answer) -> list[ReportStatus] | None:
    """The reports that were not accepted; None where the request was not answered."""
    if answer.status != 200:
        return None
    try:
        return decode_errors(answer.body)
    except DecodeError:
        return None


def _slug(code: int) -> str:
    return ReportError(code).slug if code in set(ReportError) else f"code-0x{code:02x}"
