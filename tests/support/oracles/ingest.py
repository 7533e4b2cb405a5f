"""PROTOCOL §4 as it is written: one report and one check at a time.

The product checks a header once for all reports that share it, and reads most plaintexts without a
parser. Its outcomes must equal those of this module, which does every step exactly once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from deniable_aggregator.ingest.checks import UploadContext
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_shared.errors import DecodeError, EnvelopeError
from deniable_shared.manifest.model import Manifest
from deniable_shared.wire.envelope import Opener
from deniable_shared.wire.extensions import EXTENSIONS
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import Plaintext, Report, seal_info

__all__ = ["CHECKS", "Check", "CommitOracle", "ReportUnderCheck", "first_error", "outcome"]


@dataclass(slots=True)
class ReportUnderCheck:
    """A report, and what passed checks leave for later ones."""

    report: Report
    context: UploadContext
    manifest: Manifest = field(init=False)
    opener: Opener = field(init=False)
    opened: bytes = field(init=False)
    plaintext: Plaintext = field(init=False)
    serial: bytes | None = field(init=False, default=None)

    @property
    def epoch(self) -> int:
        return self.report.header.epoch


Check = Callable[[ReportUnderCheck], ReportError | None]
"""The code that the report is answered with, or None if it passes."""


def token_fits(checked: ReportUnderCheck) -> ReportError | None:
    return checked.context.token_error


def not_too_early(checked: ReportUnderCheck) -> ReportError | None:
    start = checked.epoch * checked.context.collection.manifest.epoch_seconds
    return ReportError.TOO_EARLY if start - checked.context.now > 300 else None


def collection_has_started(checked: ReportUnderCheck) -> ReportError | None:
    before = checked.epoch < checked.context.collection.first_epoch
    return ReportError.NOT_STARTED if before else None


def collection_has_not_ended(checked: ReportUnderCheck) -> ReportError | None:
    after = checked.epoch > checked.context.collection.last_epoch
    return ReportError.COLLECTION_EXPIRED if after else None


def epoch_is_open(checked: ReportUnderCheck) -> ReportError | None:
    context, newest = checked.context, checked.context.collection.manifest
    closes = (checked.epoch + 1) * newest.epoch_seconds + newest.grace_seconds
    closed_early = (context.collection.id, checked.epoch) in context.closed
    return ReportError.EPOCH_CLOSED if context.now > closes or closed_early else None


def manifest_is_known(checked: ReportUnderCheck) -> ReportError | None:
    version = checked.report.header.manifest_version
    if version not in checked.context.collection.versions:
        return ReportError.MANIFEST_UNKNOWN
    checked.manifest = checked.context.collection.versions[version]
    return None


def key_is_current(checked: ReportUnderCheck) -> ReportError | None:
    opener = checked.context.opener(checked.report.header.key_id)
    if opener is None:
        return ReportError.OUTDATED_KEY
    checked.opener = opener
    return None


def header_has_no_extension(checked: ReportUnderCheck) -> ReportError | None:
    return ReportError.UNKNOWN_EXTENSION if checked.report.header.extensions else None


def opens(checked: ReportUnderCheck) -> ReportError | None:
    manifest, header = checked.manifest, checked.report.header
    info = seal_info(manifest.collection, manifest.digest, header)
    try:
        checked.opened = checked.opener.open(checked.report.sealed, info=info)
    except EnvelopeError:
        return ReportError.CANNOT_OPEN
    return None


def inside_is_a_message(checked: ReportUnderCheck) -> ReportError | None:
    if len(checked.opened) != checked.context.collection.plaintext_size:
        return ReportError.INVALID_MESSAGE
    try:
        checked.plaintext = Plaintext.decode(checked.opened)
    except DecodeError:
        return ReportError.INVALID_MESSAGE
    return None


def extensions_are_those_required(checked: ReportUnderCheck) -> ReportError | None:
    given = {extension.type: extension.data for extension in checked.plaintext.extensions}
    required = {EXTENSIONS[id].type: id for id in checked.manifest.requires}
    if not given.keys() <= required.keys():
        return ReportError.UNKNOWN_EXTENSION
    for type, id in required.items():
        verifier = checked.context.verifiers[id]
        if type not in given:
            return verifier.missing
        collection = checked.manifest.collection
        checked.serial = verifier.serial(given[type], collection=collection, epoch=checked.epoch)
        if checked.serial is None:
            return verifier.invalid
    return None


def payload_is_possible(checked: ReportUnderCheck) -> ReportError | None:
    try:
        checked.context.collection.mechanism.validate(checked.plaintext.payload)
    except DecodeError:
        return ReportError.INVALID_MESSAGE
    return None


CHECKS: tuple[Check, ...] = (
    token_fits,
    not_too_early,
    collection_has_started,
    collection_has_not_ended,
    epoch_is_open,
    manifest_is_known,
    key_is_current,
    header_has_no_extension,
    opens,
    inside_is_a_message,
    extensions_are_those_required,
    payload_is_possible,
)


def first_error(checked: ReportUnderCheck) -> ReportError | None:
    """The code of the first check that fails; those after it do not run."""
    for check in CHECKS:
        error = check(checked)
        if error is not None:
            return error
    return None


def outcome(report: Report, context: UploadContext) -> AcceptedReport | ReportError:
    """The report as it is committed, or the code of the first check that it fails."""
    checked = ReportUnderCheck(report, context)
    error = first_error(checked)
    if error is not None:
        return error
    actual, header = context.collection, report.header
    cohort = context.cohorts.of(actual.id, header.report_id, actual.manifest.cohorts)
    cell = TallyKey(actual.id, header.epoch, header.manifest_version, cohort)
    return AcceptedReport(cell, header.report_id, checked.plaintext.payload, checked.serial)


@dataclass(slots=True)
class CommitOracle:
    """The contents of a store after commits: closed epochs, ids and serials, reports of each cell.

    Copies of one id must carry one serial.
    """

    closed: set[tuple[str, int]] = field(default_factory=set)
    ids: set[tuple[str, int, bytes]] = field(default_factory=set)
    serials: set[tuple[str, int, bytes]] = field(default_factory=set)
    reports: dict[TallyKey, list[bytes]] = field(default_factory=dict)

    def commit(self, arrivals: Sequence[AcceptedReport]) -> list[ReportError | None]:
        """Of each report its code, or None for one that is counted or a duplicate."""
        return [self._commit(arrival) for arrival in arrivals]

    def _commit(self, arrival: AcceptedReport) -> ReportError | None:
        epoch = (arrival.key.collection, arrival.key.epoch)
        if epoch in self.closed:
            return ReportError.EPOCH_CLOSED
        if (*epoch, arrival.report_id) in self.ids:
            return None
        if arrival.serial is not None:
            if (*epoch, arrival.serial) in self.serials:
                return ReportError.VOUCHER_SPENT
            self.serials.add((*epoch, arrival.serial))
        self.ids.add((*epoch, arrival.report_id))
        self.reports.setdefault(arrival.key, []).append(arrival.payload)
        return None
