"""The ingest's one path gives every upload the outcome of PROTOCOL §4, checked step by step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from deniable_aggregator.ingest.checks import Upload, UploadContext, check_reports
from deniable_aggregator.ingest.extensions import VoucherVerifier
from deniable_aggregator.keys.cohorts import Cohorts
from deniable_aggregator.store.rows import AcceptedReport
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import Report, encode_upload
from support.builders.service_world import DAY, NOON, TODAY, World, opened
from support.builders.uploads import CLOSED, FEBRUARY, KINDS, STRANGE, Draft, Reports, uploads
from support.oracles import ingest as oracle
from support.tiers import by_tier

PROTOCOL = Path(__file__).parents[3] / "shared" / "PROTOCOL.md"


@dataclass
class Subject:
    """A service, and the oracle's store that took the same uploads."""

    world: World
    reports: Reports
    held: oracle.CommitOracle
    known_closed: set[tuple[str, int]] = field(default_factory=set)

    def context(self, kind: str, token_error: ReportError | None) -> UploadContext:
        service = self.world.running
        return UploadContext(
            collection=service.registry.get(self.reports.collection(kind)),
            now=self.world.clock(),
            token_error=token_error,
            closed=frozenset(self.known_closed),
            opener=service.keys.opener,
            verifiers={"voucher/1": VoucherVerifier(service.voucher_keys.of)},
            cohorts=Cohorts.open(service.settings.data / "keys"),
        )

    def expected(
        self, reports: Sequence[Report], context: UploadContext
    ) -> list[ReportError | None]:
        """What the upload is answered; the oracle's store holds the reports afterwards."""
        outcomes = [oracle.outcome(report, context) for report in reports]
        arrivals = [each for each in outcomes if isinstance(each, AcceptedReport)]
        codes = self.held.commit(arrivals)
        self.known_closed |= {
            (arrival.key.collection, arrival.key.epoch)
            for arrival, code in zip(arrivals, codes, strict=True)
            if code is ReportError.EPOCH_CLOSED
        }
        committed = iter(codes)
        return [next(committed) if isinstance(each, AcceptedReport) else each for each in outcomes]

    def upload(self, kind: str, reports: Sequence[Report], token: ReportError | None) -> None:
        """Through ingest and store: codes and tallies are the oracle's."""
        alone = len(reports) == 1 and token is ReportError.TOKEN_REQUIRED
        context = self.context(kind, None if alone else token)
        expected = self.expected(reports, context)
        failed = self.world.running.ingest.upload(
            context.collection.id,
            encode_upload(reports),
            prefix=None,
            relay=token is None,
            token_refused=token is ReportError.TOKEN_INVALID,
        )
        assert Counter((each.report_id, each.error) for each in failed) == Counter(
            (report.header.report_id, code)
            for report, code in zip(reports, expected, strict=True)
            if code is not None
        )
        assert self.counted(context.collection.id) == self.deserved(context)

    def counted(self, collection: str) -> dict[object, tuple[int, list[int]]]:
        rows = self.world.running.store.tallies(collection, 0, 2**32)
        return {row.key: (row.n, row.tally.tolist()) for row in rows}

    def deserved(self, context: UploadContext) -> dict[object, tuple[int, list[int]]]:
        tally = context.collection.estimator.tally
        return {
            cell: (len(payloads), tally(np.frombuffer(b"".join(payloads), "u1")[:, None]).tolist())
            for cell, payloads in self.held.reports.items()
            if cell.collection == context.collection.id
        }


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    with opened(tmp_path_factory.mktemp("oracle")) as world:
        reports = Reports(world)
        closed = {(reports.collection(kind), CLOSED) for kind in KINDS}
        yield Subject(world, reports, oracle.CommitOracle(closed=closed))


@pytest.mark.slow
@given(**uploads())
@settings(max_examples=by_tier(30, 300))
def test_checks_have_the_oracles_outcomes(
    subject: Subject, kind: str, batch: list[Draft], now: float, token: ReportError | None
) -> None:
    subject.world.clock.now = now
    reports = [subject.reports.sealed(kind, draft) for draft in batch]
    context = replace(
        subject.context(kind, token), closed={(subject.reports.collection(kind), CLOSED)}
    )
    outcomes = [(each, oracle.outcome(each, context)) for each in reports]
    checked = check_reports(Upload.decode(encode_upload(reports)), context, {})
    assert checked.accepted == [each for _, each in outcomes if isinstance(each, AcceptedReport)]
    assert [(each.report_id, each.error) for each in checked.rejected] == [
        (report.header.report_id, each)
        for report, each in outcomes
        if isinstance(each, ReportError)
    ]


@pytest.mark.slow
@given(**uploads())
@settings(max_examples=by_tier(15, 150))
def test_an_upload_has_the_oracles_answer_and_tallies(
    subject: Subject, kind: str, batch: list[Draft], now: float, token: ReportError | None
) -> None:
    subject.world.clock.now = now
    subject.upload(kind, [subject.reports.sealed(kind, draft) for draft in batch], token)


EVERY: Sequence[tuple[ReportError | None, str, Draft]] = [
    (None, "once", Draft()),
    (ReportError.EPOCH_CLOSED, "once", Draft(epoch=TODAY - 3)),
    (ReportError.EPOCH_CLOSED, "grouped", Draft(epoch=CLOSED)),
    (ReportError.CANNOT_OPEN, "grouped", Draft(sealed_as="damaged")),
    (ReportError.INVALID_MESSAGE, "once", Draft(size=128)),
    (ReportError.INVALID_MESSAGE, "memoized", Draft(payload=b"\xff")),
    (ReportError.TOO_EARLY, "once", Draft(epoch=TODAY + 1)),
    (ReportError.NOT_STARTED, "once", Draft(epoch=0)),
    (ReportError.OUTDATED_KEY, "memoized", Draft(key_id=3)),
    (ReportError.MANIFEST_UNKNOWN, "memoized", Draft(version=3)),
    (ReportError.UNKNOWN_EXTENSION, "once", Draft(header=(STRANGE,))),
    (ReportError.UNKNOWN_EXTENSION, "survey", Draft(strange=True)),
    (ReportError.VOUCHER_REQUIRED, "survey", Draft(voucher="none")),
    (ReportError.VOUCHER_INVALID, "survey", Draft(voucher="of another epoch")),
]


@pytest.mark.slow
def test_every_code_is_reached_by_both_paths(subject: Subject) -> None:
    subject.world.clock.now = NOON
    for code, kind, draft in EVERY:
        report = subject.reports.sealed(kind, replace(draft, number=300))
        assert subject.expected([report], subject.context(kind, None)) == [code]
        subject.upload(kind, [report], None)
    spent = [subject.reports.sealed("survey", Draft(number=number)) for number in (303, 304)]
    subject.upload("survey", spent[:1], None)
    assert subject.expected(spent[1:], subject.context("survey", None)) == [
        ReportError.VOUCHER_SPENT
    ]
    subject.upload("survey", spent[1:], None)
    subject.world.clock.now = FEBRUARY * DAY + 60
    late = subject.reports.sealed("once", Draft(epoch=FEBRUARY))
    assert oracle.outcome(late, subject.context("once", None)) is ReportError.COLLECTION_EXPIRED
    subject.upload("once", [late], None)
    subject.upload("once", [subject.reports.sealed("once", Draft(epoch=FEBRUARY - 1))], None)
    for token in (ReportError.TOKEN_REQUIRED, ReportError.TOKEN_INVALID):
        subject.upload("once", [late, late], token)


def test_the_oracle_checks_in_the_protocols_order() -> None:
    said = re.search(r"### Order of checks\n\n(.*?)\n\n", PROTOCOL.read_text(), re.DOTALL)
    assert said is not None
    steps = re.split(r" → |, (?=ended)", " ".join(said[1].split()).partition(". The sizes")[0])
    assert steps[steps.index("collection") + 1 : steps.index("commit")] == [
        "relay's token",
        "too early",
        "not started",
        "ended",
        "epoch closed",
        "manifest version",
        "key",
        "header extensions",
        "opens",
        "plaintext extensions",
        "payload valid",
    ]
    assert [check.__name__ for check in oracle.CHECKS] == [
        "token_fits",
        "not_too_early",
        "collection_has_started",
        "collection_has_not_ended",
        "epoch_is_open",
        "manifest_is_known",
        "key_is_current",
        "header_has_no_extension",
        "opens",
        "inside_is_a_message",
        "extensions_are_those_required",
        "payload_is_possible",
    ]
