"""From the bytes of an upload to counted reports, in the order of PROTOCOL §4.

endpoint    content type and length, and the relay's token
upload      rate → message → collection → `checks` → commit
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from deniable_aggregator.ingest.checks import Upload, UploadContext, check_reports
from deniable_aggregator.ingest.commit import GroupCommit
from deniable_aggregator.ingest.extensions import Verifier
from deniable_aggregator.ingest.limiter import CollectionLimiter, PrefixLimiter
from deniable_aggregator.problem import Problem
from deniable_aggregator.spans import Tracer
from deniable_aggregator.store.rows import Arrival, Verdict
from deniable_shared.epochs import Clock, closes_at
from deniable_shared.errors import DecodeError
from deniable_shared.problems import ReportError
from deniable_shared.report import ReportStatus

if TYPE_CHECKING:
    from deniable_aggregator.ingest.metrics import IngestMetrics
    from deniable_aggregator.keys import Keys
    from deniable_aggregator.keys.cohorts import Cohorts
    from deniable_aggregator.registry import Collection, Registry
    from deniable_aggregator.settings import Settings
    from deniable_aggregator.store.protocols import Reports

__all__ = ["Ingest"]

_REFUSED = {
    Verdict.CLOSED: ReportError.EPOCH_CLOSED,
    Verdict.SPENT: ReportError.VOUCHER_SPENT,
}
_ACCEPTED = (Verdict.COUNTED, Verdict.DUPLICATE)


class Ingest:
    """Takes uploads. Thread-safe; an upload returns once its reports are durable."""

    def __init__(
        self,
        settings: Settings,
        *,
        store: Reports,
        registry: Registry,
        keys: Keys,
        cohorts: Cohorts,
        verifiers: Mapping[str, Verifier],
        clock: Clock,
        metrics: IngestMetrics,
        tracer: Tracer,
    ) -> None:
        self._store = store
        self._registry = registry
        self._keys = keys
        self._cohorts = cohorts
        self._verifiers = verifiers
        self._clock = clock
        self._metrics = metrics
        self._tracer = tracer
        self._limiter = PrefixLimiter(settings.reports_per_minute_per_prefix, clock=clock)
        self._shares = CollectionLimiter(settings.reports_per_minute_per_collection, clock=clock)
        self._commits = GroupCommit(self._commit)
        self._relays_only = settings.relay_batch > 0
        self._closed: set[tuple[str, int]] = set()

    @property
    def waiting(self) -> int:
        """Opened reports that wait for the disk."""
        return self._commits.waiting

    def upload(
        self,
        collection: str,
        body: bytes,
        *,
        prefix: str | None,
        relay: bool,
        token_refused: bool = False,
    ) -> list[ReportStatus]:
        """Count the reports of one request; the statuses of those that were not accepted.

        `prefix` is the sender's network, None where a proxy limits. `relay`: the request has a
        valid relay token, which more than one report needs; `token_refused`: its token is not
        valid. Raises Problem for the request as a whole. A duplicate is accepted and counted once.
        """
        sent = self._parsed(body, None if relay else prefix)
        found = self._registry.get(collection, version=sent.newest)
        now = self._clock()
        _require_open(found, now)
        self._shares.admit(found.id, len(sent.frames))
        self._commits.require_room()
        token_error = self._token_error(len(sent.frames), relay=relay, refused=token_refused)
        return self._counted(sent, self._context(found, now, token_error))

    def count(self, collection: str, body: bytes, *, now: float) -> list[ReportStatus]:
        """Count reports that a keyless intake took before, without rates and tokens.

        `now` is a moment at which they were neither too early nor too late; an epoch that is closed
        in the store stays closed.
        """
        sent = Upload.decode(body)
        found = self._registry.get(collection, version=sent.newest)
        return self._counted(sent, self._context(found, now, None))

    def _parsed(self, body: bytes, prefix: str | None) -> Upload:
        """One report is charged before anything is read, the others as soon as they are known."""
        if prefix is not None:
            self._limiter.admit(prefix)
        try:
            sent = Upload.decode(body)
        except DecodeError as error:
            raise Problem("invalid-message", str(error)) from error
        if prefix is not None and len(sent.frames) > 1:
            self._limiter.admit(prefix, len(sent.frames) - 1)
        return sent

    def _token_error(self, reports: int, *, relay: bool, refused: bool) -> ReportError | None:
        if refused:
            return ReportError.TOKEN_INVALID
        needed = reports > 1 or self._relays_only
        return ReportError.TOKEN_REQUIRED if needed and not relay else None

    def _context(
        self, found: Collection, now: float, token_error: ReportError | None
    ) -> UploadContext:
        return UploadContext(
            collection=found,
            now=now,
            token_error=token_error,
            closed=self._closed,
            opener=self._keys.opener,
            verifiers=self._verifiers,
            cohorts=self._cohorts,
        )

    def _counted(self, sent: Upload, context: UploadContext) -> list[ReportStatus]:
        """Check the reports and commit those that pass; the statuses of the others."""
        arrivals, failed = check_reports(sent, context)
        for arrival, verdict in zip(arrivals, self._commits.submit(arrivals), strict=True):
            if verdict in _REFUSED:
                failed.append(ReportStatus(arrival.report_id, _REFUSED[verdict]))
                if verdict is Verdict.CLOSED:
                    self._closed.add((arrival.cell.collection, arrival.cell.epoch))
        if failed:
            self._count_failed(context.collection.id, failed)
        return failed

    def _commit(self, arrivals: Sequence[Arrival]) -> list[Verdict]:
        """Of all uploads that wait; one thread at a time."""
        with self._tracer.act("commit") as span, self._metrics.commit(len(arrivals)):
            span.reports = len(arrivals)
            verdicts = self._store.commit(arrivals, self._registry.tally)
            span.outcome = "durable"
        collections = [arrival.cell.collection for arrival in arrivals]
        pairs = Counter(zip(collections, verdicts, strict=True))
        for (collection, verdict), n in pairs.items():
            if verdict in _ACCEPTED:
                self._metrics.count_reports(collection, verdict.value, n)
        return verdicts

    def _count_failed(self, collection: str, failed: Sequence[ReportStatus]) -> None:
        reasons = Counter(ReportError(status.error).slug for status in failed)
        for reason, n in reasons.items():
            self._metrics.count_reports(collection, reason, n)
        self._store.count_rejections(collection, reasons)


def _require_open(collection: Collection, now: float) -> None:
    newest = collection.manifest
    if collection.state == "closed":
        raise Problem("collection-closed", f"{collection.id} was closed by its operator")
    if now > closes_at(collection.last_epoch, newest.epoch_seconds, newest.grace_seconds):
        raise Problem("collection-closed", f"{collection.id} expired on {newest.expires}")
