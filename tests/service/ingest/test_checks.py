"""What a report must pass, and in which order: PROTOCOL §4."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from deniable_aggregator.ingest.checks import HeaderGroups, Upload, UploadContext, check_reports
from deniable_aggregator.ingest.extensions import VoucherVerifier
from deniable_aggregator.keys.cohorts import Cohorts
from deniable_aggregator.store.rows import AcceptedReport
from deniable_shared.wire.envelope import Opener
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import Extension, Report, encode_upload
from support.builders.service_world import DAY, NOON, TODAY, TOML, World, authored
from support.oracles import ingest as oracle

FEBRUARY = int(NOON) // DAY + 17  # the first epoch after the collection's life
STRANGE = (Extension(7, b"strange"),)


def context(
    bare_service: World, opener: Callable[[int], Opener | None] | None = None
) -> UploadContext:
    return UploadContext(
        collection=bare_service.running.registry.get("settings"),
        now=bare_service.clock(),
        token_error=None,
        closed=frozenset({(bare_service.manifest.collection, TODAY - 1)}),
        opener=opener or bare_service.running.keys.opener,
        verifiers={"voucher/1": VoucherVerifier(bare_service.running.voucher_keys.of)},
        cohorts=Cohorts(bytes(32)),
    )


def code(bare_service: World, report: Report) -> ReportError | None:
    """The code of a report that is alone in its upload, which is that of the oracle."""
    [outcome] = outcomes([report], context(bare_service))
    assert outcome == oracle.outcome(report, context(bare_service))
    return outcome if isinstance(outcome, ReportError) else None


def outcomes(
    reports: Sequence[Report], context: UploadContext
) -> list[AcceptedReport | ReportError]:
    """Of each report of an upload what is committed or the code that it is answered with."""
    checked = check_reports(Upload.decode(encode_upload(reports)), context, {})
    found: dict[bytes, AcceptedReport | ReportError] = {
        each.report_id: each for each in checked.accepted
    }
    found |= {status.report_id: ReportError(status.error) for status in checked.rejected}
    assert checked.ids == [each.report_id for each in checked.accepted]
    assert len(checked.ids) + len(checked.rejected) == len(reports) == len(found)
    return [found[report.header.report_id] for report in reports]


def test_an_honest_report_passes(bare_service: World) -> None:
    report = bare_service.report(payload=b"\x40")
    [outcome] = outcomes([report], context(bare_service))
    assert isinstance(outcome, AcceptedReport)
    assert (outcome.report_id, outcome.payload) == (report.header.report_id, b"\x40")


EPOCHS: dict[int, ReportError | None] = {
    TODAY: None,
    TODAY + 1: ReportError.TOO_EARLY,
    2**32 - 1: ReportError.TOO_EARLY,
    TODAY - 15: ReportError.NOT_STARTED,
    0: ReportError.NOT_STARTED,
    TODAY - 14: ReportError.EPOCH_CLOSED,
    TODAY - 3: ReportError.EPOCH_CLOSED,
    TODAY - 2: None,
    TODAY - 1: ReportError.EPOCH_CLOSED,
}


def test_an_epoch_is_taken_only_while_it_is_open(bare_service: World) -> None:
    answers = {
        epoch: code(bare_service, bare_service.report(bare_service.header(epoch=epoch)))
        for epoch in EPOCHS
    }
    assert answers == EPOCHS


def test_a_report_may_be_five_minutes_early_and_no_more(bare_service: World) -> None:
    report = bare_service.report(bare_service.header(epoch=TODAY + 1))
    bare_service.clock.now = (TODAY + 1) * DAY - 300
    assert code(bare_service, report) is None
    bare_service.clock.now -= 0.001
    assert code(bare_service, report) == ReportError.TOO_EARLY


def test_an_epoch_is_open_up_to_the_last_second_of_its_grace(bare_service: World) -> None:
    report = bare_service.report(bare_service.header(epoch=TODAY))
    bare_service.clock.now = (TODAY + 3) * DAY
    assert code(bare_service, report) is None
    bare_service.clock.now += 0.001
    assert code(bare_service, report) == ReportError.EPOCH_CLOSED


def test_an_epoch_after_the_collections_last_one_is_refused(
    bare_service: World,
) -> None:
    last, after = (bare_service.report(bare_service.header(epoch=FEBRUARY - n)) for n in (1, 0))
    bare_service.clock.now = FEBRUARY * DAY + 60
    assert code(bare_service, last) is None
    assert code(bare_service, after) == ReportError.COLLECTION_EXPIRED


def test_a_report_under_an_unknown_manifest_version_is_refused(bare_service: World) -> None:
    for version in (0, 2, 65_535):
        report = bare_service.report(bare_service.header(manifest_version=version))
        assert code(bare_service, report) == ReportError.MANIFEST_UNKNOWN


def test_a_report_to_an_unknown_key_is_outdated(bare_service: World) -> None:
    for key_id in (0, 2, 255):
        report = bare_service.report(bare_service.header(key_id=key_id))
        assert code(bare_service, report) == ReportError.OUTDATED_KEY


def test_an_unknown_header_extension_is_refused_before_opening(
    bare_service: World,
) -> None:
    class Untouchable(Opener):
        def __init__(self) -> None: ...

        def open(self, sealed: bytes, *, info: bytes) -> bytes:
            raise AssertionError("opened too soon")

    report = bare_service.report(bare_service.header(extensions=STRANGE))
    closed = context(bare_service, lambda _: Untouchable())
    assert outcomes([report], closed) == [ReportError.UNKNOWN_EXTENSION]


def test_an_unknown_extension_inside_is_refused(bare_service: World) -> None:
    assert (
        code(bare_service, bare_service.report(extensions=STRANGE)) == ReportError.UNKNOWN_EXTENSION
    )


def test_no_byte_of_the_header_can_be_changed(bare_service: World) -> None:
    report = bare_service.report()
    for change in (
        {"report_id": bytes(16)},
        {"epoch": TODAY - 2},
        {"manifest_version": 2},
        {"key_id": 2},
        {"extensions": STRANGE},
    ):
        forged = Report(replace(report.header, **change), report.sealed)
        assert code(bare_service, forged) is not None


def test_a_report_sealed_under_another_manifest_does_not_open(bare_service: World) -> None:
    other = authored(TOML.replace('owner = "privacy', 'owner = "somebody'))
    assert code(bare_service, bare_service.report(manifest=other)) == ReportError.CANNOT_OPEN


def test_a_cut_ciphertext_does_not_open(bare_service: World) -> None:
    report, cuts = bare_service.report(), (1, 16, 47, 48, 112)
    left = {cut: report.sealed[: max(1, len(report.sealed) - cut)] for cut in cuts}
    answers = {
        cut: code(bare_service, Report(report.header, sealed)) for cut, sealed in left.items()
    }
    assert answers == dict.fromkeys(cuts, ReportError.CANNOT_OPEN)


INSIDES = {
    "empty": b"",
    "short": b"\x00\x01\xa0\x00\x00" + bytes(58),
    "long": b"\x00\x01\xa0\x00\x00" + bytes(60),
    "next size": b"\x00\x01\xa0\x00\x00" + bytes(123),
    "padding": b"\x00\x01\xa0\x00\x00" + bytes(58) + b"\x01",
    "length": b"\xff\xff" + bytes(62),
    "no payload": b"\x00\x00\x00\x00" + bytes(60),
}


def test_an_inside_that_is_no_message_is_invalid(bare_service: World) -> None:
    answers = {
        name: code(bare_service, bare_service.report(plaintext=plaintext))
        for name, plaintext in INSIDES.items()
    }
    assert answers == dict.fromkeys(INSIDES, ReportError.INVALID_MESSAGE)


def test_a_payload_no_device_can_make_is_invalid(bare_service: World) -> None:
    payloads = (b"\x10", b"\xff", b"\xa0\x00")
    answers = {each: code(bare_service, bare_service.report(payload=each)) for each in payloads}
    assert answers == dict.fromkeys(payloads, ReportError.INVALID_MESSAGE)


FAULTS: list[tuple[ReportError, dict[str, Any]]] = [
    (ReportError.EPOCH_CLOSED, {"epoch": TODAY - 5}),
    (ReportError.MANIFEST_UNKNOWN, {"manifest_version": 9}),
    (ReportError.OUTDATED_KEY, {"key_id": 9}),
    (ReportError.UNKNOWN_EXTENSION, {"extensions": STRANGE}),
]


def test_of_several_faults_the_earliest_is_answered(bare_service: World) -> None:
    answers, wrong = [], dict[str, Any]()
    for _, fault in reversed(FAULTS):
        wrong = fault | wrong
        report = bare_service.report(bare_service.header(**wrong), payload=b"\xff")
        answers.append(code(bare_service, report))
    assert answers == [error for error, _ in reversed(FAULTS)]


def test_the_epochs_own_faults_come_before_all_others(bare_service: World) -> None:
    expected = {
        TODAY + 40: ReportError.TOO_EARLY,  # and after the collection's life
        TODAY - 40: ReportError.NOT_STARTED,  # and closed long ago
    }
    answers = {}
    for epoch in expected:
        header = bare_service.header(epoch=epoch, manifest_version=9, key_id=9, extensions=STRANGE)
        answers[epoch] = code(bare_service, bare_service.report(header, payload=b"\xff"))
    assert answers == expected


def test_a_missing_token_comes_before_all_others(bare_service: World) -> None:
    report = bare_service.report(bare_service.header(epoch=TODAY + 40))
    without = replace(context(bare_service), token_error=ReportError.TOKEN_REQUIRED)
    assert outcomes([report], without) == [ReportError.TOKEN_REQUIRED]


def test_one_upload_gives_each_report_the_code_it_gets_alone(bare_service: World) -> None:
    reports = [
        bare_service.report(payload=b"\x40"),
        bare_service.report(payload=b"\xff"),
        bare_service.report(plaintext=bytes(64)),
        bare_service.report(extensions=STRANGE),
        bare_service.report(bare_service.header(epoch=TODAY + 1)),
        bare_service.report(bare_service.header(extensions=STRANGE)),
        bare_service.report(bare_service.header(key_id=9)),
        Report(bare_service.header(), bytes(112)),
        bare_service.report(bare_service.header(epoch=TODAY - 2), payload=b"\xa0"),
    ]
    alone = [oracle.outcome(report, context(bare_service)) for report in reports]
    assert len({each for each in alone if isinstance(each, ReportError)}) == 5
    assert outcomes(reports, context(bare_service)) == alone
    assert outcomes(reports[::-1], context(bare_service)) == alone[::-1]


def test_headers_that_share_their_terms_are_checked_once_and_each_opened(
    bare_service: World,
) -> None:
    asked = []

    def opener(key_id: int) -> Opener | None:
        asked.append(key_id)
        return bare_service.running.keys.opener(key_id)

    reports = [bare_service.report(payload=bytes([number << 5])) for number in range(8)]
    upload = Upload.decode(encode_upload(reports))
    checked = check_reports(upload, context(bare_service, opener), {})
    assert (checked.rejected, asked) == ([], [1])
    assert [arrival.payload[0] >> 5 for arrival in checked.accepted] == list(range(8))


def test_uploads_checked_together_share_the_checks_of_their_terms(
    bare_service: World,
) -> None:
    asked: list[int] = []

    def opener(key_id: int) -> Opener | None:
        asked.append(key_id)
        return bare_service.running.keys.opener(key_id)

    groups: HeaderGroups = {}
    together = context(bare_service, opener)
    refused = replace(together, token_error=ReportError.TOKEN_INVALID)
    for each in (together, together, refused):
        upload = Upload.decode(encode_upload([bare_service.report()]))
        checked = check_reports(upload, each, groups)
        assert len(checked.accepted) == (each is together)
    assert (asked, len(groups)) == ([1], 2)
