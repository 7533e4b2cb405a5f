"""What a report must pass, and in which order: PROTOCOL §4."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from deniable_aggregator.ingest.checks import Upload, UploadContext, check_reports
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


def context(world: World, opener: Callable[[int], Opener | None] | None = None) -> UploadContext:
    return UploadContext(
        collection=world.service.registry.get("settings"),
        now=world.clock(),
        token_error=None,
        closed=frozenset({(world.manifest.collection, TODAY - 1)}),
        opener=opener or world.service.keys.opener,
        verifiers={"voucher/1": VoucherVerifier(world.service.voucher_keys.of)},
        cohorts=Cohorts(bytes(32)),
    )


def code(world: World, report: Report) -> ReportError | None:
    """The code of a report that is alone in its upload, which is that of the oracle."""
    [outcome] = outcomes([report], context(world))
    assert outcome == oracle.outcome(report, context(world))
    return outcome if isinstance(outcome, ReportError) else None


def outcomes(
    reports: Sequence[Report], context: UploadContext
) -> list[AcceptedReport | ReportError]:
    """Of each report of an upload what is committed or the code that it is answered with."""
    arrivals, failed = check_reports(Upload.decode(encode_upload(reports)), context)
    found: dict[bytes, AcceptedReport | ReportError] = {each.report_id: each for each in arrivals}
    found |= {status.report_id: ReportError(status.error) for status in failed}
    assert len(arrivals) + len(failed) == len(reports) == len(found)
    return [found[report.header.report_id] for report in reports]


def test_an_honest_report_passes(world: World) -> None:
    report = world.report(payload=b"\x40")
    [outcome] = outcomes([report], context(world))
    assert isinstance(outcome, AcceptedReport)
    assert (outcome.report_id, outcome.payload) == (report.header.report_id, b"\x40")


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (TODAY, None),
        (TODAY + 1, ReportError.TOO_EARLY),
        (2**32 - 1, ReportError.TOO_EARLY),
        (TODAY - 15, ReportError.NOT_STARTED),
        (0, ReportError.NOT_STARTED),
        (TODAY - 14, ReportError.EPOCH_CLOSED),
        (TODAY - 3, ReportError.EPOCH_CLOSED),
        (TODAY - 2, None),
        (TODAY - 1, ReportError.EPOCH_CLOSED),
    ],
)
def test_an_epoch_is_taken_only_while_it_is_open(
    world: World, epoch: int, expected: ReportError | None
) -> None:
    assert code(world, world.report(world.header(epoch=epoch))) == expected


def test_a_report_may_be_five_minutes_early_and_no_more(world: World) -> None:
    report = world.report(world.header(epoch=TODAY + 1))
    world.clock.now = (TODAY + 1) * DAY - 300
    assert code(world, report) is None
    world.clock.now -= 0.001
    assert code(world, report) == ReportError.TOO_EARLY


def test_an_epoch_is_open_up_to_the_last_second_of_its_grace(world: World) -> None:
    report = world.report(world.header(epoch=TODAY))
    world.clock.now = (TODAY + 3) * DAY
    assert code(world, report) is None
    world.clock.now += 0.001
    assert code(world, report) == ReportError.EPOCH_CLOSED


def test_an_epoch_after_the_collections_life_is_refused_and_the_last_one_in_it_is_not(
    world: World,
) -> None:
    last, after = (world.report(world.header(epoch=FEBRUARY - n)) for n in (1, 0))
    world.clock.now = FEBRUARY * DAY + 60
    assert code(world, last) is None
    assert code(world, after) == ReportError.COLLECTION_EXPIRED


def test_a_report_under_an_unknown_manifest_version_is_refused(world: World) -> None:
    for version in (0, 2, 65_535):
        report = world.report(world.header(manifest_version=version))
        assert code(world, report) == ReportError.MANIFEST_UNKNOWN


def test_a_report_to_an_unknown_key_is_outdated(world: World) -> None:
    for key_id in (0, 2, 255):
        report = world.report(world.header(key_id=key_id))
        assert code(world, report) == ReportError.OUTDATED_KEY


def test_an_unknown_extension_in_the_header_is_refused_before_anything_is_opened(
    world: World,
) -> None:
    class Untouchable(Opener):
        def __init__(self) -> None: ...

        def open(self, sealed: bytes, *, info: bytes) -> bytes:
            raise AssertionError("opened too soon")

    report = world.report(world.header(extensions=STRANGE))
    closed = context(world, lambda _: Untouchable())
    assert outcomes([report], closed) == [ReportError.UNKNOWN_EXTENSION]


def test_an_unknown_extension_inside_is_refused(world: World) -> None:
    assert code(world, world.report(extensions=STRANGE)) == ReportError.UNKNOWN_EXTENSION


def test_no_byte_of_the_header_can_be_changed(world: World) -> None:
    report = world.report()
    for change in (
        {"report_id": bytes(16)},
        {"epoch": TODAY - 2},
        {"manifest_version": 2},
        {"key_id": 2},
        {"extensions": STRANGE},
    ):
        forged = Report(replace(report.header, **change), report.sealed)
        assert code(world, forged) is not None


def test_a_report_sealed_under_another_manifest_does_not_open(world: World) -> None:
    other = authored(TOML.replace('owner = "privacy', 'owner = "somebody'))
    assert code(world, world.report(manifest=other)) == ReportError.CANNOT_OPEN


@pytest.mark.parametrize("cut", [1, 16, 47, 48, 112])
def test_a_cut_ciphertext_does_not_open(world: World, cut: int) -> None:
    report = world.report()
    shorter = Report(report.header, report.sealed[: max(1, len(report.sealed) - cut)])
    assert code(world, shorter) == ReportError.CANNOT_OPEN


@pytest.mark.parametrize(
    "plaintext",
    [
        b"",
        b"\x00\x01\xa0\x00\x00" + bytes(58),
        b"\x00\x01\xa0\x00\x00" + bytes(60),
        b"\x00\x01\xa0\x00\x00" + bytes(123),
        b"\x00\x01\xa0\x00\x00" + bytes(58) + b"\x01",
        b"\xff\xff" + bytes(62),
        b"\x00\x00\x00\x00" + bytes(60),
    ],
    ids=["empty", "short", "long", "next size", "padding", "length", "no payload"],
)
def test_an_inside_that_is_no_message_is_invalid(world: World, plaintext: bytes) -> None:
    assert code(world, world.report(plaintext=plaintext)) == ReportError.INVALID_MESSAGE


@pytest.mark.parametrize("payload", [b"\x10", b"\xff", b"\xa0\x00"])
def test_a_payload_no_device_can_make_is_invalid(world: World, payload: bytes) -> None:
    assert code(world, world.report(payload=payload)) == ReportError.INVALID_MESSAGE


FAULTS: list[tuple[ReportError, dict[str, object]]] = [
    (ReportError.EPOCH_CLOSED, {"epoch": TODAY - 5}),
    (ReportError.MANIFEST_UNKNOWN, {"manifest_version": 9}),
    (ReportError.OUTDATED_KEY, {"key_id": 9}),
    (ReportError.UNKNOWN_EXTENSION, {"extensions": STRANGE}),
]


@pytest.mark.parametrize("first", range(len(FAULTS)))
def test_of_several_faults_the_earliest_is_answered(world: World, first: int) -> None:
    wrong: dict[str, object] = {}
    for _, fault in FAULTS[first:]:
        wrong |= fault
    report = world.report(world.header(**wrong), payload=b"\xff")  # type: ignore[arg-type]  # one dict has values of many types
    assert code(world, report) == FAULTS[first][0]


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (TODAY + 40, ReportError.TOO_EARLY),  # and after the collection's life
        (TODAY - 40, ReportError.NOT_STARTED),  # and closed long ago
    ],
)
def test_the_epochs_own_faults_come_before_all_others(
    world: World, epoch: int, expected: ReportError
) -> None:
    header = world.header(epoch=epoch, manifest_version=9, key_id=9, extensions=STRANGE)
    assert code(world, world.report(header, payload=b"\xff")) == expected


def test_a_missing_token_comes_before_all_others(world: World) -> None:
    report = world.report(world.header(epoch=TODAY + 40))
    without = replace(context(world), token_error=ReportError.TOKEN_REQUIRED)
    assert outcomes([report], without) == [ReportError.TOKEN_REQUIRED]


def test_one_upload_gives_each_report_the_code_it_gets_alone(world: World) -> None:
    reports = [
        world.report(payload=b"\x40"),
        world.report(payload=b"\xff"),
        world.report(plaintext=bytes(64)),
        world.report(extensions=STRANGE),
        world.report(world.header(epoch=TODAY + 1)),
        world.report(world.header(extensions=STRANGE)),
        world.report(world.header(key_id=9)),
        Report(world.header(), bytes(112)),
        world.report(world.header(epoch=TODAY - 2), payload=b"\xa0"),
    ]
    alone = [oracle.outcome(report, context(world)) for report in reports]
    assert len({each for each in alone if isinstance(each, ReportError)}) == 5
    assert outcomes(reports, context(world)) == alone
    assert outcomes(reports[::-1], context(world)) == alone[::-1]


def test_headers_that_share_their_terms_are_checked_once_and_each_opened(world: World) -> None:
    asked = []

    def opener(key_id: int) -> Opener | None:
        asked.append(key_id)
        return world.service.keys.opener(key_id)

    reports = [world.report(payload=bytes([number << 5])) for number in range(8)]
    upload = Upload.decode(encode_upload(reports))
    arrivals, failed = check_reports(upload, context(world, opener))
    assert (failed, asked) == ([], [1])
    assert [arrival.payload[0] >> 5 for arrival in arrivals] == list(range(8))
