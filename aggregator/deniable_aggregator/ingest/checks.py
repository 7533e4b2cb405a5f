"""What a report must pass, in the order of PROTOCOL §4: cheap first, opened late, counted last.

A check returns the code its report is answered with, or None. It may leave on the candidate what
later checks use. HEADER_CHECKS look at nothing but the header's terms, so that reports which share
them share the outcome: see `batch`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field

from deniable_aggregator.ingest.extensions import Verifier, checked_serial
from deniable_aggregator.ingest.opener import open_report
from deniable_aggregator.registry import Collection
from deniable_shared.envelope import Opener
from deniable_shared.epochs import closes_at, starts_too_early
from deniable_shared.errors import DecodeError, EnvelopeError
from deniable_shared.manifest import Manifest
from deniable_shared.problems import ReportError
from deniable_shared.report import Plaintext, Report

__all__ = [
    "HEADER_CHECKS",
    "PLAINTEXT_CHECKS",
    "REPORT_CHECKS",
    "Candidate",
    "Check",
    "Circumstances",
    "first_error",
]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What all reports of one request are held against.

    `token_error` is the code of a missing or refused relay token, `closed` holds the
    (collection, epoch) pairs known to be closed before their time.
    """

    collection: Collection
    now: float
    token_error: ReportError | None
    closed: Container[tuple[str, int]]
    opener: Callable[[int], Opener | None]
    verifiers: Mapping[str, Verifier]


@dataclass(slots=True)
class Candidate:
    """A report on its way through the checks."""

    report: Report
    around: Circumstances
    manifest: Manifest = field(init=False)
    opener: Opener = field(init=False)
    plaintext: Plaintext = field(init=False)
    serial: bytes | None = field(init=False, default=None)


Check = Callable[[Candidate], ReportError | None]


def token_fits(candidate: Candidate) -> ReportError | None:
    return candidate.around.token_error


def not_too_early(candidate: Candidate) -> ReportError | None:
    seconds = candidate.around.collection.manifest.epoch_seconds
    early = starts_too_early(candidate.report.header.epoch, seconds, candidate.around.now)
    return ReportError.TOO_EARLY if early else None


def collection_has_started(candidate: Candidate) -> ReportError | None:
    before = candidate.report.header.epoch < candidate.around.collection.first_epoch
    return ReportError.NOT_STARTED if before else None


def collection_has_not_ended(candidate: Candidate) -> ReportError | None:
    after = candidate.report.header.epoch > candidate.around.collection.last_epoch
    return ReportError.COLLECTION_EXPIRED if after else None


def epoch_is_open(candidate: Candidate) -> ReportError | None:
    """By the clock and by what is known; the commit reads the stored fact once more."""
    around, epoch = candidate.around, candidate.report.header.epoch
    newest = around.collection.manifest
    due = around.now > closes_at(epoch, newest.epoch_seconds, newest.grace_seconds)
    closed = due or (around.collection.id, epoch) in around.closed
    return ReportError.EPOCH_CLOSED if closed else None


def manifest_is_known(candidate: Candidate) -> ReportError | None:
    version = candidate.report.header.manifest_version
    manifest = candidate.around.collection.versions.get(version)
    if manifest is None:
        return ReportError.MANIFEST_UNKNOWN
    candidate.manifest = manifest
    return None


def key_is_current(candidate: Candidate) -> ReportError | None:
    opener = candidate.around.opener(candidate.report.header.key_id)
    if opener is None:
        return ReportError.OUTDATED_KEY
    candidate.opener = opener
    return None


def header_has_no_extension(candidate: Candidate) -> ReportError | None:
    return ReportError.UNKNOWN_EXTENSION if candidate.report.header.extensions else None


def opens(candidate: Candidate) -> ReportError | None:
    size = candidate.around.collection.plaintext_size
    try:
        candidate.plaintext = open_report(
            candidate.report, candidate.opener, candidate.manifest, size=size
        )
    except EnvelopeError:
        return ReportError.CANNOT_OPEN
    except DecodeError:
        return ReportError.INVALID_MESSAGE
    return None


def extensions_are_those_required(candidate: Candidate) -> ReportError | None:
    given, required = candidate.plaintext.extensions, candidate.manifest.requires
    if not given and not required:
        return None
    found = checked_serial(
        given,
        required,
        candidate.around.verifiers,
        collection=candidate.manifest.collection,
        epoch=candidate.report.header.epoch,
    )
    if isinstance(found, ReportError):
        return found
    candidate.serial = found
    return None


def payload_is_possible(candidate: Candidate) -> ReportError | None:
    try:
        candidate.around.collection.mechanism.validate(candidate.plaintext.payload)
    except DecodeError:
        return ReportError.INVALID_MESSAGE
    return None


HEADER_CHECKS: tuple[Check, ...] = (
    token_fits,
    not_too_early,
    collection_has_started,
    collection_has_not_ended,
    epoch_is_open,
    manifest_is_known,
    key_is_current,
    header_has_no_extension,
)
PLAINTEXT_CHECKS: tuple[Check, ...] = (extensions_are_those_required, payload_is_possible)
REPORT_CHECKS: tuple[Check, ...] = (*HEADER_CHECKS, opens, *PLAINTEXT_CHECKS)


def first_error(
    candidate: Candidate, checks: tuple[Check, ...] = REPORT_CHECKS
) -> ReportError | None:
    """The code of the first check that fails; those after it do not run."""
    for check in checks:
        error = check(candidate)
        if error is not None:
            return error
    return None
