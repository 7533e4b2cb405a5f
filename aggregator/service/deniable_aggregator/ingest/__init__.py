"""Turns the bytes of uploads into counted reports, in the order of PROTOCOL §4.

`deniable_gateway.upload.gate`   content type and length, the relay's token, the first report's rate
take                             message → rate of the rest → collection → `checks` → commit
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.base.errors import StoreUnavailableError
from deniable_aggregator.ingest.checks import HeaderGroups, Upload, UploadContext, check_reports
from deniable_aggregator.store.rows import AcceptedReport, CommitStatus, TallyKey
from deniable_gateway.problem import Problem
from deniable_gateway.upload.gate import Arrival, Sender
from deniable_gateway.upload.limiter import CollectionLimiter, PrefixLimiter
from deniable_gateway.upload.storing import Checked, store_together
from deniable_gateway.upload.upload_queue import not_stored
from deniable_shared.errors import DecodeError
from deniable_shared.manifest.epochs import Clock, closes_at
from deniable_shared.wire.problems import ReportError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.base.spans import Tracer
    from deniable_aggregator.collections.registry import Collection, Registry
    from deniable_aggregator.ingest.extensions import Verifier
    from deniable_aggregator.keys import Keys
    from deniable_aggregator.keys.cohorts import Cohorts
    from deniable_aggregator.store.protocols import Reports
    from deniable_gateway.upload.upload_queue import Outcome
    from deniable_shared.wire.report import ReportStatus

__all__ = ["Ingest", "IngestMetrics", "Observers", "ReportKeys"]

_REJECTIONS = {
    CommitStatus.CLOSED: ReportError.EPOCH_CLOSED,
    CommitStatus.SPENT: ReportError.VOUCHER_SPENT,
}
_ACCEPTED = (CommitStatus.COUNTED, CommitStatus.DUPLICATE)


class IngestMetrics(Protocol):
    """Counts and times uploads and their reports. Thread-safe."""

    def commit(self, reports: int) -> AbstractContextManager[None]:
        """Time the commit in the block, and count it as failed if the block raises."""
        ...

    def count_reports(self, collection: str, outcome: str, reports: int) -> None:
        """Count reports of a registered collection; `outcome` is a verdict or an error's slug."""
        ...

    def count_upload(self, status: str, seconds: float) -> None:
        """Count an upload that was answered with this status after `seconds`."""
        ...

    def count_request(self, operation: str | None, status: int) -> None:
        """Count a request that is no upload; `operation` is None if none exists for it."""
        ...


@dataclass(frozen=True, slots=True)
class Observers:
    """The metrics and the tracer of uploads."""

    metrics: IngestMetrics
    tracer: Tracer


@dataclass(frozen=True, slots=True)
class ReportKeys:
    """The keys that open reports and check their extensions."""

    keys: Keys
    cohorts: Cohorts
    verifiers: Mapping[str, Verifier]


class Ingest:
    """Counts the reports of uploads. Thread-safe. It answers after the reports are durable."""

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
        self.limiter = PrefixLimiter(settings.reports_per_minute_per_prefix, clock=clock)
        self._shares = CollectionLimiter(settings.reports_per_minute_per_collection, clock=clock)
        self._relays_only = settings.relay_batch > 0
        self._closed: set[tuple[str, int]] = set()

    def take(self, arrivals: Sequence[Arrival]) -> Sequence[Outcome]:
        """Count the reports of several uploads in one commit; returns their outcomes in order.

        An outcome is the statuses of the rejected reports, or the Problem of the whole request. A
        duplicate is accepted and counted once.
        """
        groups: HeaderGroups = {}
        checks = partial(self._check, groups=groups)
        return store_together(arrivals, check=checks, store=self._commit)

    def upload(
        self,
        collection: str,
        body: bytes,
        *,
        prefix: str | None,
        relay: bool,
        token_refused: bool = False,
    ) -> list[ReportStatus]:
        """Count the reports of one request; returns the statuses of rejected reports.

        `prefix`: the sender's network, None if a proxy limits rates. `relay`: the request has a
        valid relay token, which more than one report needs. `token_refused`: its token is invalid.
        Raises Problem if the whole request is refused.
        """
        charged = None if relay else prefix
        if charged is not None:
            self.limiter.admit(charged)
        return self.take_one(Arrival(collection, body, Sender(charged, relay, token_refused)))

    def take_one(self, arrival: Arrival) -> list[ReportStatus]:
        """Count one upload, whose first report the rate limit has counted. Raises its Problem."""
        [outcome] = self.take([arrival])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def count(self, collection: str, body: bytes, *, now: float) -> list[ReportStatus]:
        """Count reports that a keyless intake accepted earlier, without rates and tokens.

        `now`: Unix seconds at which they were neither too early nor too late. An epoch that is
        closed in the store stays closed.
        """

        def check(arrival: Arrival) -> Checked[AcceptedReport]:
            decoded = Upload.decode(arrival.body)
            registered = self.registry.get(collection, version=decoded.newest)
            return self._checked(decoded, self._context(registered, now, None), {})

        arrival = Arrival(collection, body, Sender())
        [outcome] = store_together([arrival], check=check, store=self._commit)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _check(self, arrival: Arrival, *, groups: HeaderGroups) -> Checked[AcceptedReport]:
        """Run the checks of PROTOCOL §4 in order. Raises Problem to refuse the whole request."""
        sender = arrival.sender
        decoded = self._decode(arrival.body, sender.prefix)
        try:
            registered = self.registry.get(arrival.collection, version=decoded.newest)
        except StoreUnavailableError as error:  # another process may have registered it
            raise not_stored() from error
        now = self._clock()
        _require_open(registered, now)
        self._shares.admit(registered.id, len(decoded.frames))
        token_error = self._token_error(len(decoded.frames), sender)
        return self._checked(decoded, self._context(registered, now, token_error), groups)

    def _checked(
        self, decoded: Upload, context: UploadContext, groups: HeaderGroups
    ) -> Checked[AcceptedReport]:
        checked = check_reports(decoded, context, groups)
        if checked.rejected:
            self._count_rejected(context.collection.id, checked.rejected)
        return checked

    def _decode(self, body: bytes, prefix: str | None) -> Upload:
        """Decode the body and apply the rate limit to all reports but the first."""
        try:
            decoded = Upload.decode(body)
        except DecodeError as error:
            raise Problem("invalid-message", str(error)) from error
        if prefix is not None and len(decoded.frames) > 1:
            self.limiter.admit(prefix, len(decoded.frames) - 1)
        return decoded

    def _token_error(self, reports: int, sender: Sender) -> ReportError | None:
        if sender.token_refused:
            return ReportError.TOKEN_INVALID
        needed = reports > 1 or self._relays_only
        return ReportError.TOKEN_REQUIRED if needed and not sender.relay else None

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

    def _commit(self, reports: Sequence[AcceptedReport]) -> list[ReportError | None]:
        """Commit reports of several uploads; for each the reason of its refusal, or None."""
        with self._tracer.span("commit") as span, self._metrics.commit(len(reports)):
            span.reports = len(reports)
            statuses = self._store.commit(reports, self.registry.tally)
            span.outcome = "durable"
        cells = [report.key for report in reports]
        pairs = Counter(zip([key.collection for key in cells], statuses, strict=True))
        for (collection, status), n in pairs.items():
            if status in _ACCEPTED:
                self._metrics.count_reports(collection, status.value, n)
            else:
                self._count_reasons(collection, Counter({_REJECTIONS[status].slug: n}))
        if CommitStatus.CLOSED in statuses:
            self._remember_closed(cells, statuses)
        return [_REJECTIONS.get(status) for status in statuses]

    def _remember_closed(self, cells: Sequence[TallyKey], statuses: Sequence[CommitStatus]) -> None:
        self._closed.update(
            (key.collection, key.epoch)
            for key, status in zip(cells, statuses, strict=True)
            if status is CommitStatus.CLOSED
        )

    def _count_rejected(self, collection: str, rejected: Sequence[ReportStatus]) -> None:
        self._count_reasons(collection, Counter(ReportError(each.error).slug for each in rejected))

    def _count_reasons(self, collection: str, reasons: Counter[str]) -> None:
        for reason, n in reasons.items():
            self._metrics.count_reports(collection, reason, n)
        self._store.count_rejections(collection, reasons)


def _require_open(collection: Collection, now: float) -> None:
    newest = collection.manifest
    if collection.state == "closed":
        raise Problem("collection-closed", f"{collection.id} was closed by its operator")
    if now > closes_at(collection.last_epoch, newest.epoch_seconds, newest.grace_seconds):
        raise Problem("collection-closed", f"{collection.id} expired on {newest.expires}")
