"""From the bytes of an upload to counted reports, in the order of PROTOCOL §4.

endpoint    content type and length, and the relay's token
upload      rate → message → collection → `checks` → commit
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.base.spans import Tracer
from deniable_aggregator.ingest.checks import Upload, UploadContext, check_reports
from deniable_aggregator.ingest.extensions import Verifier
from deniable_aggregator.store.rows import AcceptedReport, CommitStatus
from deniable_gateway.problem import Problem
from deniable_gateway.upload.group_commit import GroupCommit
from deniable_gateway.upload.limiter import CollectionLimiter, PrefixLimiter
from deniable_shared.errors import DecodeError
from deniable_shared.manifest.epochs import Clock, closes_at
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import ReportStatus

if TYPE_CHECKING:
    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.collections.registry import Collection, Registry
    from deniable_aggregator.keys import Keys
    from deniable_aggregator.keys.cohorts import Cohorts
    from deniable_aggregator.store.protocols import Reports

__all__ = ["Ingest", "IngestMetrics", "Observers", "ReportKeys"]

_REJECTIONS = {
    CommitStatus.CLOSED: ReportError.EPOCH_CLOSED,
    CommitStatus.SPENT: ReportError.VOUCHER_SPENT,
}
_ACCEPTED = (CommitStatus.COUNTED, CommitStatus.DUPLICATE)


class IngestMetrics(Protocol):
    """Counts and times what happens to uploads. Thread-safe."""

    def commit(self, reports: int) -> AbstractContextManager[None]:
        """Times the commit in the block; counts it as failed if the block raises."""
        ...

    def count_reports(self, collection: str, outcome: str, reports: int) -> None:
        """`collection` is the id of a registered one; `outcome` a verdict or a code's slug."""
        ...

    def count_upload(self, status: str, seconds: float) -> None:
        """An upload that was answered with this status in so many seconds."""
        ...

    def count_request(self, operation: str | None, status: int) -> None:
        """Another request; `operation` is None if none takes it."""
        ...


@dataclass(frozen=True, slots=True)
class Observers:
    """What counts uploads, and what traces them."""

    metrics: IngestMetrics
    tracer: Tracer


@dataclass(frozen=True, slots=True)
class ReportKeys:
    """What opens reports, and what their extensions are checked with."""

    keys: Keys
    cohorts: Cohorts
    verifiers: Mapping[str, Verifier]


class Ingest:
    """Takes uploads. Thread-safe; an upload returns once its reports are durable."""

    def __init__(
        self,
        settings: Settings,
        *,
        store: Reports,
        registry: Registry,
        report_keys: ReportKeys,
        clock: Clock,
        observers: Observers,
    ) -> None:
        self.registry = registry
        self._store = store
        self._keys = report_keys.keys
        self._cohorts = report_keys.cohorts
        self._verifiers = report_keys.verifiers
        self._clock = clock
        self._metrics = observers.metrics
        self._tracer = observers.tracer
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
        decoded = self._decode(body, None if relay else prefix)
        registered = self.registry.get(collection, version=decoded.newest)
        now = self._clock()
        _require_open(registered, now)
        self._shares.admit(registered.id, len(decoded.frames))
        self._commits.require_room()
        token_error = self._token_error(len(decoded.frames), relay=relay, refused=token_refused)
        return self._check_and_commit(decoded, self._context(registered, now, token_error))

    def count(self, collection: str, body: bytes, *, now: float) -> list[ReportStatus]:
        """Count reports that a keyless intake took before, without rates and tokens.

        `now` is a moment at which they were neither too early nor too late; an epoch that is closed
        in the store stays closed.
        """
        decoded = Upload.decode(body)
        registered = self.registry.get(collection, version=decoded.newest)
        return self._check_and_commit(decoded, self._context(registered, now, None))

    def _decode(self, body: bytes, prefix: str | None) -> Upload:
        """One report is charged before anything is read, the others as soon as they are known."""
        if prefix is not None:
            self._limiter.admit(prefix)
        try:
            decoded = Upload.decode(body)
        except DecodeError as error:
            raise Problem("invalid-message", str(error)) from error
        if prefix is not None and len(decoded.frames) > 1:
            self._limiter.admit(prefix, len(decoded.frames) - 1)
        return decoded

    def _token_error(self, reports: int, *, relay: bool, refused: bool) -> ReportError | None:
        if refused:
            return ReportError.TOKEN_INVALID
        needed = reports > 1 or self._relays_only
        return ReportError.TOKEN_REQUIRED if needed and not relay else None

    def _context(
        self, registered: Collection, now: float, token_error: ReportError | None
    ) -> UploadContext:
        return UploadContext(
            collection=registered,
            now=now,
            token_error=token_error,
            closed=self._closed,
            opener=self._keys.opener,
            verifiers=self._verifiers,
            cohorts=self._cohorts,
        )

    def _check_and_commit(self, decoded: Upload, context: UploadContext) -> list[ReportStatus]:
        """Check the reports and commit those that pass; the statuses of the others."""
        reports, rejected = check_reports(decoded, context)
        for report, status in zip(reports, self._commits.submit(reports), strict=True):
            if status in _REJECTIONS:
                rejected.append(ReportStatus(report.report_id, _REJECTIONS[status]))
                if status is CommitStatus.CLOSED:
                    self._closed.add((report.key.collection, report.key.epoch))
        if rejected:
            self._record_rejections(context.collection.id, rejected)
        return rejected

    def _commit(self, reports: Sequence[AcceptedReport]) -> list[CommitStatus]:
        """Of all uploads that wait; one thread at a time."""
        with self._tracer.span("commit") as span, self._metrics.commit(len(reports)):
            span.reports = len(reports)
            statuses = self._store.commit(reports, self.registry.tally)
            span.outcome = "durable"
        collections = [report.key.collection for report in reports]
        pairs = Counter(zip(collections, statuses, strict=True))
        for (collection, status), n in pairs.items():
            if status in _ACCEPTED:
                self._metrics.count_reports(collection, status.value, n)
        return statuses

    def _record_rejections(self, collection: str, rejected: Sequence[ReportStatus]) -> None:
        reasons = Counter(ReportError(each.error).slug for each in rejected)
        for reason, n in reasons.items():
            self._metrics.count_reports(collection, reason, n)
        self._store.count_rejections(collection, reasons)


def _require_open(collection: Collection, now: float) -> None:
    newest = collection.manifest
    if collection.state == "closed":
        raise Problem("collection-closed", f"{collection.id} was closed by its operator")
    if now > closes_at(collection.last_epoch, newest.epoch_seconds, newest.grace_seconds):
        raise Problem("collection-closed", f"{collection.id} expired on {newest.expires}")
