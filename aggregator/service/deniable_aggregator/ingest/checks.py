"""The checks of PROTOCOL §4 from the relay's token to the payload, in its order, top to bottom.

    header   token → epoch → manifest version → key → header extensions
    report   opens → plaintext extensions → payload

Reports that are checked together share few headers, so a header is checked once for its
HeaderGroup. The first failed check gives the answer. `Ingest.take` does the steps before and
after.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Self

from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.ingest.extensions import Verifier, checked_serial
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_gateway.upload.storing import Checked
from deniable_shared.errors import DecodeError, EnvelopeError
from deniable_shared.manifest.epochs import closes_at, starts_too_early
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import (
    Frame,
    Plaintext,
    ReportHeader,
    ReportStatus,
    seal_info_parts,
    split_upload,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from deniable_aggregator.keys.cohorts import Cohorts
    from deniable_shared.manifest.model import Manifest
    from deniable_shared.wire.envelope import Opener

_LENGTH_BYTES = 2
_NO_ID = bytes(16)


@lru_cache(maxsize=64)
def _header(terms: bytes) -> ReportHeader:
    """The header after the id; cached, because a day has few. Raises DecodeError."""
    return ReportHeader.decode(_NO_ID + terms)


class Upload:
    """The reports of one request, and a header for each distinct set of terms."""

    __slots__ = ("frames", "headers")

    def __init__(self, frames: list[Frame]) -> None:
        """Raises DecodeError for terms that are not a header."""
        self.frames = frames
        self.headers = {frame.header_rest: _header(frame.header_rest) for frame in frames}

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """Decode a body. Raises DecodeError unless every byte belongs to a report."""
        return cls(split_upload(body))

    @property
    def newest(self) -> int:
        """The highest manifest version among the reports."""
        return max(header.manifest_version for header in self.headers.values())


@dataclass(frozen=True, slots=True)
class UploadContext:
    """The facts that all reports of one request are checked against.

    `token_error`: the code of a missing or refused relay token. `closed`: the (collection, epoch)
    pairs that are known to be closed early. `opener`: finds the key of an id.
    """

    collection: Collection
    now: float
    token_error: ReportError | None
    closed: Container[tuple[str, int]]
    opener: Callable[[int], Opener | None]
    verifiers: Mapping[str, Verifier]
    cohorts: Cohorts


HeaderGroups = dict[tuple[Collection, ReportError | None, bytes], "HeaderGroup"]
"""Header groups of uploads that are checked together, by collection, token error and terms."""


def check_reports(
    upload: Upload, context: UploadContext, groups: HeaderGroups
) -> Checked[AcceptedReport]:
    """The reports to commit, and the rejected ones with their codes, in the upload's order.

    Uploads that are checked together share `groups`.
    """
    for terms, header in upload.headers.items():
        key = context.collection, context.token_error, terms
        if key not in groups:
            groups[key] = HeaderGroup(header, context)
    checked: Checked[AcceptedReport] = Checked()
    for frame in upload.frames:
        group = groups[context.collection, context.token_error, frame.header_rest]
        outcome = group.check(frame)
        if isinstance(outcome, AcceptedReport):
            checked.accept(frame.report_id, outcome)
        else:
            checked.rejected.append(ReportStatus(frame.report_id, outcome))
    return checked


class HeaderGroup:
    """Reports whose headers differ only in the id: the header's checks have one outcome for all."""

    def __init__(self, header: ReportHeader, context: UploadContext) -> None:
        self._header = header
        self._context = context
        self._cells: dict[int, TallyKey] = {}
        self._error = self._header_error()

    def check(self, frame: Frame) -> AcceptedReport | ReportError:
        """The report to commit, or the code of the first failed check."""
        if self._error is not None:
            return self._error
        report_id = frame.report_id
        try:
            opened = self._open(frame.sealed, info=self._before + report_id + self._after)
            payload, serial = self._unpack(opened)
            if isinstance(serial, ReportError):
                return serial
            self._validate(payload)
        except EnvelopeError:
            return ReportError.CANNOT_OPEN
        except DecodeError:
            return ReportError.INVALID_MESSAGE
        return AcceptedReport(self._only_cell or self._cell(report_id), report_id, payload, serial)

    def _header_error(self) -> ReportError | None:
        header, context = self._header, self._context
        if context.token_error is not None:
            return context.token_error
        epoch_error = _epoch_error(header.epoch, context)
        if epoch_error is not None:
            return epoch_error
        manifest = context.collection.versions.get(header.manifest_version)
        if manifest is None:
            return ReportError.MANIFEST_UNKNOWN
        opener = context.opener(header.key_id)
        if opener is None:
            return ReportError.OUTDATED_KEY
        if header.extensions:
            return ReportError.UNKNOWN_EXTENSION
        self._prepare(manifest, opener)
        return None

    def _prepare(self, manifest: Manifest, opener: Opener) -> None:
        """Compute the values that the checks of each report need."""
        collection = self._context.collection
        terms = self._header.encode()[len(self._header.report_id) :]
        self._open = opener.open
        self._before, self._after = seal_info_parts(collection.id, manifest.digest, terms)
        self._size = collection.plaintext_size
        self._required = manifest.requires
        self._start, self._end = _around_plain(collection.mechanism.payload_size, self._size)
        self._validate = collection.mechanism.validate
        self._only_cell = self._cell(b"") if collection.manifest.cohorts == 1 else None

    def _unpack(self, opened: bytes) -> tuple[bytes, bytes | ReportError | None]:
        """The payload, and the serial to redeem, None, or the reason to refuse the extensions.

        Raises DecodeError for a plaintext of another size or shape. A plaintext with a payload of
        the usual size and no extension needs no parser.
        """
        if len(opened) != self._size:
            raise DecodeError(f"the plaintext must have {self._size} bytes, got {len(opened)}")
        is_plain = opened.startswith(self._start) and opened.endswith(self._end)
        if is_plain and not self._required:
            return opened[_LENGTH_BYTES : -len(self._end)], None
        plaintext = Plaintext.decode(opened)
        return plaintext.payload, checked_serial(
            plaintext.extensions,
            self._required,
            self._context.verifiers,
            collection=self._context.collection.id,
            epoch=self._header.epoch,
        )

    def _cell(self, report_id: bytes) -> TallyKey:
        collection, header = self._context.collection, self._header
        cohort = self._context.cohorts.of(collection.id, report_id, collection.manifest.cohorts)
        if cohort not in self._cells:
            self._cells[cohort] = TallyKey(
                collection.id, header.epoch, header.manifest_version, cohort
            )
        return self._cells[cohort]


def _epoch_error(epoch: int, context: UploadContext) -> ReportError | None:
    """The error of an epoch that has not started, has ended, or is known to be closed early.

    The commit checks the stored state again.
    """
    collection, newest = context.collection, context.collection.manifest
    if starts_too_early(epoch, newest.epoch_seconds, context.now):
        return ReportError.TOO_EARLY
    if epoch < collection.first_epoch:
        return ReportError.NOT_STARTED
    if epoch > collection.last_epoch:
        return ReportError.COLLECTION_EXPIRED
    due = closes_at(epoch, newest.epoch_seconds, newest.grace_seconds)
    if context.now > due or (collection.id, epoch) in context.closed:
        return ReportError.EPOCH_CLOSED
    return None


@lru_cache(maxsize=256)
def _around_plain(payload_size: int, size: int) -> tuple[bytes, bytes]:
    """The bytes before and after the payload in a plaintext without extensions."""
    start = payload_size.to_bytes(_LENGTH_BYTES, "big")
    return start, bytes(size - len(start) - payload_size)
