"""Uploads without a key: every check of PROTOCOL section 4 that needs none, then the disk.

A device that gets a 200 deletes its report. So everything that the aggregator would reject in the
open is rejected here, by the copy of the manifests. At a relay, reports must look alike. Headers
with extensions are rejected, as they could distinguish reports of a batch. A report sealed to a key
that is no longer active gets "outdated key", so that the device seals it again for the current
batch. Elsewhere every listed key is accepted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_gateway.problem import Problem, jittered
from deniable_gateway.upload.limiter import CollectionLimiter, PrefixLimiter
from deniable_gateway.upload.storing import Checked, store_together
from deniable_shared.errors import DecodeError
from deniable_shared.manifest.epochs import Clock, closes_at, starts_too_early
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import (
    Report,
    ReportHeader,
    ReportStatus,
    decode_upload,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from deniable_gateway.upload.gate import Arrival, Sender
    from deniable_gateway.upload.mirror import Mirror, MirroredCollection
    from deniable_gateway.upload.upload_queue import Outcome

RETRY_SECONDS = 30.0
MAX_WAITING = 5_000_000
"""Most reports kept at a time: limits the disk while the aggregator cannot be reached."""


@dataclass(frozen=True, slots=True)
class SealedReport:
    """A report and its collection."""

    collection: str
    report: Report


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """The most reports a minute and at a time; 0 reports of a collection is no limit."""

    per_minute: int
    per_minute_of_collection: int = 0
    waiting: float = MAX_WAITING


class SealedUploads:
    """Takes uploads and settles them once their reports are durable. Thread-safe."""

    def __init__(
        self,
        store: Callable[[Sequence[SealedReport]], list[bool]],
        *,
        limits: UploadLimits,
        clock: Clock,
        waiting: int = 0,
        anonymous: bool = True,
    ) -> None:
        """Set up with `store`, which writes reports to disk and returns which were new.

        `waiting` is the number of reports on disk now. `anonymous`: reports must look alike.
        """
        self.limiter = PrefixLimiter(limits.per_minute, clock=clock)
        self._shares = CollectionLimiter(limits.per_minute_of_collection, clock=clock)
        self._store = store
        self._clock = clock
        self._anonymous = anonymous
        self._max_waiting = limits.waiting
        self.mirror: Mirror | None = None
        self.relays_only = False
        self.closed: Container[tuple[str, int]] = frozenset()
        self.waiting = waiting

    def take(self, arrivals: Sequence[Arrival]) -> Sequence[Outcome]:
        """Store the reports of uploads in one write. Returns an outcome for each upload, in order.

        A retry is accepted and stored once.
        """
        return store_together(arrivals, check=self._check, store=self._keep)

    def _keep(self, reports: Sequence[SealedReport]) -> Sequence[ReportError | None]:
        self.waiting += sum(self._store(reports))
        return [None] * len(reports)

    def _check(self, arrival: Arrival) -> Checked[SealedReport]:
        """Return the checked reports. Raises Problem for the request as a whole."""
        sender = arrival.sender
        reports = self._decode(arrival.body, sender.prefix)
        collection_id, mirrored = self._require_collection(arrival.collection)
        self._require_open(collection_id, mirrored)
        self._shares.admit(collection_id, len(reports))
        self._require_room()
        token_error = self._token_error(len(reports), sender)
        checked: Checked[SealedReport] = Checked()
        for each in reports:
            error = token_error or self._error(collection_id, mirrored, each.header)
            if error is None:
                checked.accept(each.header.report_id, SealedReport(collection_id, each))
            else:
                checked.rejected.append(ReportStatus(each.header.report_id, error))
        return checked

    def require_mirror(self) -> Mirror:
        """Return the copy of what the aggregator publishes.

        Raises Problem("unavailable") without one.
        """
        if self.mirror is None:
            raise Problem(
                "unavailable",
                "the relay has not reached its aggregator yet",
                retry_after=jittered(RETRY_SECONDS),
            )
        return self.mirror

    def find_id(self, collection: str) -> str | None:
        """Return the id of a collection by id or name; None if there is none."""
        match = self.require_mirror().find(collection)
        return None if match is None else match[0]

    def web_origins(self, collection: str) -> tuple[str, ...]:
        """Return the origins whose pages may upload to a collection; none if the copy lacks it."""
        match = self.mirror and self.mirror.find(collection)
        return match[1].newest.web_origins if match else ()

    def _decode(self, body: bytes, prefix: str | None) -> list[Report]:
        """The reports, and charge all but the first, which was charged before the body came."""
        try:
            reports = decode_upload(body)
        except DecodeError as error:
            raise Problem("invalid-message", str(error)) from error
        if prefix is not None and len(reports) > 1:
            self.limiter.admit(prefix, len(reports) - 1)
        return reports

    def _require_collection(self, collection: str) -> tuple[str, MirroredCollection]:
        match = self.require_mirror().find(collection)
        if match is None:
            raise Problem("unknown-collection", "no collection has this id or name")
        return match

    def _token_error(self, reports: int, sender: Sender) -> ReportError | None:
        if sender.token_refused:
            return ReportError.TOKEN_INVALID
        needed = reports > 1 or self.relays_only
        return ReportError.TOKEN_REQUIRED if needed and not sender.relay else None

    def _require_open(self, collection_id: str, mirrored: MirroredCollection) -> None:
        newest = mirrored.newest
        closes = closes_at(newest.last_epoch, newest.epoch_seconds, newest.grace_seconds)
        if not mirrored.open or self._clock() > closes:
            raise Problem("collection-closed", f"{collection_id} takes no reports any more")

    def _require_room(self) -> None:
        if self.waiting >= self._max_waiting:
            raise Problem(
                "unavailable",
                "too many reports are waiting for the aggregator: try again later",
                retry_after=jittered(RETRY_SECONDS),
            )

    def _error(
        self, collection_id: str, mirrored: MirroredCollection, header: ReportHeader
    ) -> ReportError | None:
        mirror = self.require_mirror()
        keys = mirror.active if self._anonymous else mirror.listed
        newest, epoch, now = mirrored.newest, header.epoch, self._clock()
        closes = closes_at(epoch, newest.epoch_seconds, newest.grace_seconds)
        refusals = (
            (starts_too_early(epoch, newest.epoch_seconds, now), ReportError.TOO_EARLY),
            (epoch < newest.first_epoch, ReportError.NOT_STARTED),
            (epoch > newest.last_epoch, ReportError.COLLECTION_EXPIRED),
            (now > closes or (collection_id, epoch) in self.closed, ReportError.EPOCH_CLOSED),
            (header.manifest_version not in mirrored.versions, ReportError.MANIFEST_UNKNOWN),
            (header.key_id not in keys, ReportError.OUTDATED_KEY),
            (bool(header.extensions), ReportError.UNKNOWN_EXTENSION),
        )
        return next((error for refused, error in refusals if refused), None)
