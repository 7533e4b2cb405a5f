"""From the bytes of an upload to counted reports: rate, parse, checks, group commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from deniable_aggregator.ingest.checks import Candidate, Circumstances, first_error
from deniable_aggregator.ingest.commit import GroupCommit
from deniable_aggregator.ingest.extensions import Verifier
from deniable_aggregator.ingest.limiter import CollectionLimiter, PrefixLimiter
from deniable_aggregator.problem import Problem
from deniable_aggregator.store.contract import Arrival, Cell, Store, Verdict
from deniable_shared.epochs import Clock, closes_at
from deniable_shared.errors import DecodeError
from deniable_shared.problems import ReportError
from deniable_shared.report import Report, ReportStatus, decode_upload

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


class Ingest:
    """Takes uploads. Thread-safe; an upload returns once its reports are durable."""

    def __init__(
        self,
        settings: Settings,
        *,
        store: Store,
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
        reports = self._parsed(body, None if relay else prefix)
        newest = max(report.header.manifest_version for report in reports)
        found = self._registry.get(collection, version=newest)
        now = self._clock()
        _require_open(found, now)
        self._shares.admit(found.id, len(reports))
        self._commits.require_room()
        around = Circumstances(
            collection=found,
            now=now,
            token_error=_token_error(len(reports), relay=relay, refused=token_refused),
            closed=self._closed,
            opener=self._keys.opener,
            verifiers=self._verifiers,
        )
        failed = self._counted(reports, around)
        if failed:
            reasons = Counter(ReportError(status.error).slug for status in failed)
            self._store.count_rejections(found.id, reasons)
        return failed

    def _parsed(self, body: bytes, prefix: str | None) -> list[Report]:
        """One report is charged before anything is read, the others as soon as they are known."""
        if prefix is not None:
            self._limiter.admit(prefix)
        try:
            reports = decode_upload(body)
        except DecodeError as error:
            raise Problem("invalid-message", str(error)) from error
        if prefix is not None and len(reports) > 1:
            self._limiter.admit(prefix, len(reports) - 1)
        return reports

    def _counted(self, reports: Sequence[Report], around: Circumstances) -> list[ReportStatus]:
        failed: list[ReportStatus] = []
        arrivals: list[Arrival] = []
        for report in reports:
            candidate = Candidate(report, around)
            error = first_error(candidate)
            if error is None:
                arrivals.append(self._arrival(candidate))
            else:
                failed.append(ReportStatus(report.header.report_id, error))
        for arrival, verdict in zip(arrivals, self._commits.submit(arrivals), strict=True):
            if verdict is Verdict.CLOSED:
                self._closed.add((arrival.cell.collection, arrival.cell.epoch))
            if verdict in _REFUSED:
                failed.append(ReportStatus(arrival.report_id, _REFUSED[verdict]))
        return failed

    def _arrival(self, candidate: Candidate) -> Arrival:
        header, found = candidate.report.header, candidate.around.collection
        cohort = self._cohorts.of(found.id, header.report_id, found.manifest.cohorts)
        cell = _cell(found.id, header.epoch, header.manifest_version, cohort)
        return Arrival(cell, header.report_id, candidate.plaintext.payload, candidate.serial)


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


@lru_cache(maxsize=4096)
def _cell(collection: str, epoch: int, manifest_version: int, cohort: int) -> Cell:
    return Cell(collection, epoch, manifest_version, cohort)
