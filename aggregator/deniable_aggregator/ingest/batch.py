"""The reports of one request together: a header is judged once for all reports that share it.

    lane      reports whose headers differ in nothing but the id
    plain     an inside of the collection's one payload size, which requires no extension and has
              none, padded with zeros
    other     an inside that goes through the checks one by one, which say what is wrong

What cannot be shared is left for each report: to open it, and to look at its payload.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Self

from deniable_aggregator.ingest.checks import (
    HEADER_CHECKS,
    PLAINTEXT_CHECKS,
    Candidate,
    Circumstances,
    first_error,
)
from deniable_aggregator.ingest.opener import decoded
from deniable_aggregator.keys.cohorts import Cohorts
from deniable_aggregator.store.rows import Arrival, Cell
from deniable_shared.errors import DecodeError, EnvelopeError
from deniable_shared.problems import ReportError
from deniable_shared.report import (
    Frame,
    Report,
    ReportHeader,
    ReportStatus,
    seal_info_around,
    split_upload,
)

__all__ = ["Upload", "judged"]

_LENGTH_BYTES = 2


class Upload:
    """The reports of one request, and of each kind of header one."""

    __slots__ = ("frames", "headers")

    def __init__(self, frames: list[Frame]) -> None:
        """DecodeError for a header that is none."""
        self.frames = frames
        first = {frame.terms: frame for frame in reversed(frames)}
        self.headers = {terms: frame.header for terms, frame in first.items()}

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """DecodeError unless every byte belongs to a report."""
        return cls(split_upload(body))

    @property
    def newest(self) -> int:
        """The highest manifest version that any of them names."""
        return max(header.manifest_version for header in self.headers.values())


def judged(
    upload: Upload, around: Circumstances, cohorts: Cohorts
) -> tuple[list[Arrival], list[ReportStatus]]:
    """What is to be counted, and what is not for which reason; both in the order they came in."""
    lanes = {terms: _Lane(header, around, cohorts) for terms, header in upload.headers.items()}
    arrivals: list[Arrival] = []
    failed: list[ReportStatus] = []
    for frame in upload.frames:
        outcome = lanes[frame.terms].outcome(frame)
        if isinstance(outcome, Arrival):
            arrivals.append(outcome)
        else:
            failed.append(ReportStatus(frame.report_id, outcome))
    return arrivals, failed


class _Lane:
    """Reports whose headers differ in nothing but the id."""

    def __init__(self, header: ReportHeader, around: Circumstances, cohorts: Cohorts) -> None:
        self._header = header
        self._found = around.collection
        self._cohorts = cohorts
        self._cells: dict[int, Cell] = {}
        self._candidate = Candidate(Report(header, b"\0"), around)
        self._error = first_error(self._candidate, HEADER_CHECKS)
        if self._error is None:
            self._prepare()

    def outcome(self, frame: Frame) -> Arrival | ReportError:
        """The report to count, or the code of the first check that it fails."""
        if self._error is not None:
            return self._error
        report_id = frame.report_id
        try:
            opened = self._open(frame.sealed, info=self._before + report_id + self._after)
        except EnvelopeError:
            return ReportError.CANNOT_OPEN
        if (
            self._extended
            or len(opened) != self._size
            or not opened.startswith(self._start)
            or not opened.endswith(self._end)
        ):
            return self._other(report_id, opened)
        payload = opened[_LENGTH_BYTES : -len(self._end)]
        try:
            self._validate(payload)
        except DecodeError:
            return ReportError.INVALID_MESSAGE
        return Arrival(self._whole or self._cell(report_id), report_id, payload)

    def _prepare(self) -> None:
        found, terms = self._found, self._header.encode()[len(self._header.report_id) :]
        digest = self._candidate.manifest.digest
        self._before, self._after = seal_info_around(found.id, digest, terms)
        self._open = self._candidate.opener.open
        self._validate = found.mechanism.validate
        self._size = found.plaintext_size
        self._extended = bool(self._candidate.manifest.requires)
        self._whole = self._cell(b"") if found.manifest.cohorts == 1 else None
        self._start, self._end = _around_plain(found.mechanism.payload_size, self._size)

    def _other(self, report_id: bytes, opened: bytes) -> Arrival | ReportError:
        try:
            self._candidate.plaintext = decoded(opened, size=self._size)
        except DecodeError:
            return ReportError.INVALID_MESSAGE
        error = first_error(self._candidate, PLAINTEXT_CHECKS)
        if error is not None:
            return error
        candidate = self._candidate
        return Arrival(
            self._cell(report_id), report_id, candidate.plaintext.payload, candidate.serial
        )

    def _cell(self, report_id: bytes) -> Cell:
        found, header = self._found, self._header
        cohort = self._cohorts.of(found.id, report_id, found.manifest.cohorts)
        if cohort not in self._cells:
            self._cells[cohort] = Cell(found.id, header.epoch, header.manifest_version, cohort)
        return self._cells[cohort]


@lru_cache(maxsize=256)
def _around_plain(payload_size: int, size: int) -> tuple[bytes, bytes]:
    """What stands before and after the payload in a plain inside."""
    start = payload_size.to_bytes(_LENGTH_BYTES, "big")
    return start, bytes(size - len(start) - payload_size)
