"""From the bytes of an upload to counted reports: rate, parse, checks, group commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.ingest.batch import Upload, judged
from deniable_aggregator.ingest.checks import Circumstances
from deniable_aggregator.ingest.commit import Committer, GroupCommit
from deniable_aggregator.ingest.extensions import Verifier
from deniable_aggregator.ingest.limiter import CollectionLimiter, PrefixLimiter
from deniable_aggregator.problem import Problem
from deniable_aggregator.store.contract import Verdict
from deniable_shared.epochs import Clock, closes_at
from deniable_shared.errors import DecodeError
from deniable_shared.problems import ReportError
from deniable_shared.report import ReportStatus

if TYPE_CHECKING:
    from deniable_aggregator.keys import Keys
    from deniable_aggregator.keys.cohorts import Cohorts
    from deniable_aggregator.registry import Collection, Registry
    from deniable_aggregator.settings import Settings

__all__ = ["Ingest"]

_REFUSED = {
    Verdict.CLOSED: ReportError.EPOCH_CLOSED,
    Verdict.SPENT: ReportError.VOUCHER_SPENT,
}


class Counting(Committer, Protocol):
    """The part of a store that takes reports and notes refusals."""

    def count_rejections(self, collection: str, counts: Mapping[str, int]) -> None: ...


class Ingest:
    """Takes uploads. Thread-safe; an upload returns once its reports are durable."""

    def __init__(
        self,
        settings: Settings,
        *,
        store: Counting,
        registry: Registry,
        keys: Keys,
        cohorts: Cohorts,
        verifiers: Mapping[str, Verifier],
        clock: Clock,
    ) -> None:
        self._store = store
        self._registry = registry
        self._keys = keys
        self._cohorts = cohorts
        self._verifiers = verifiers
        self._clock = clock
        self._limiter = PrefixLimiter(settings.reports_per_minute_per_prefix, clock=clock)
        self._shares = CollectionLimiter(settings.reports_per_minute_per_collection, clock=clock)
        self._commits = GroupCommit(store, registry.tally, max_waiting=settings.max_waiting_reports)
        self._closed: set[tuple[str, int]] = set()

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

        `prefix` is the sender's network, None where a proxy limits. `relay`: a valid relay token
        came along, which more than one report needs; `token_refused`: a token that is not valid.
        Raises Problem for the request as a whole. A duplicate is accepted and counted once.
        """
        sent = self._parsed(body, None if relay else prefix)
        found = self._registry.get(collection, version=sent.newest)
        now = self._clock()
        _require_open(found, now)
        self._shares.admit(found.id, len(sent.frames))
        self._commits.require_room()
        around = Circumstances(
            collection=found,
            now=now,
            token_error=_token_error(len(sent.frames), relay=relay, refused=token_refused),
            closed=self._closed,
            opener=self._keys.opener,
            verifiers=self._verifiers,
        )
        failed = self._counted(sent, around)
        if failed:
            reasons = Counter(ReportError(status.error).slug for status in failed)
            self._store.count_rejections(found.id, reasons)
        return failed

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

    def _counted(self, sent: Upload, around: Circumstances) -> list[ReportStatus]:
        arrivals, failed = judged(sent, around, self._cohorts)
        for arrival, verdict in zip(arrivals, self._commits.submit(arrivals), strict=True):
            if verdict is Verdict.CLOSED:
                self._closed.add((arrival.cell.collection, arrival.cell.epoch))
            if verdict in _REFUSED:
                failed.append(ReportStatus(arrival.report_id, _REFUSED[verdict]))
        return failed


def _require_open(collection: Collection, now: float) -> None:
    newest = collection.manifest
    if collection.state == "closed":
        raise Problem("collection-closed", f"{collection.id} was closed by its operator")
    if now > closes_at(collection.last_epoch, newest.epoch_seconds, newest.grace_seconds):
        raise Problem("collection-closed", f"{collection.id} expired on {newest.expires}")


def _token_error(reports: int, *, relay: bool, refused: bool) -> ReportError | None:
    if refused:
        return ReportError.TOKEN_INVALID
    return ReportError.TOKEN_REQUIRED if reports > 1 and not relay else None
