"""One request to the end: counted once, refused with a code, or refused as a whole."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deniable_aggregator.base.errors import StoreUnavailableError
from deniable_aggregator.collections.registry import UnknownCollection
from deniable_gateway.problem import Problem
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import Report, encode_upload
from support.builders import service_world
from support.builders.service_world import DAY, TODAY, TOML, World, authored


def test_a_report_is_counted_in_the_cell_of_its_epoch_and_version(bare_service: World) -> None:
    assert bare_service.upload(bare_service.report(payload=b"\xa0")) == []
    [row] = bare_service.running.store.tallies(bare_service.manifest.collection, 0, 2**32)
    assert (row.key.epoch, row.key.manifest_version, row.n) == (TODAY, 1, 1)
    assert np.array_equal(row.tally, [1, 0, 1])


def test_a_duplicate_is_accepted_and_counted_once(bare_service: World) -> None:
    report = bare_service.report()
    assert bare_service.upload(report) == []
    assert bare_service.upload(report) == []
    assert bare_service.n() == 1


def test_a_report_sealed_anew_under_the_same_id_is_a_duplicate(bare_service: World) -> None:
    header = bare_service.header()
    bare_service.upload(bare_service.report(header, payload=b"\xe0"))
    assert bare_service.upload(bare_service.report(header, payload=b"\x00")) == []
    [row] = bare_service.running.store.tallies(bare_service.manifest.collection, 0, 2**32)
    assert row.tally.tolist() == [1, 1, 1]


def test_an_older_manifest_version_still_counts(bare_service: World) -> None:
    newer = authored(TOML.replace("min_batch = 1", "min_batch = 5"), previous=bare_service.manifest)
    bare_service.running.registry.apply(bare_service.signed(newer), audit=None)
    header = bare_service.header(manifest_version=2)
    assert bare_service.upload(bare_service.report()) == []
    assert bare_service.upload(bare_service.report(header, manifest=newer)) == []
    assert bare_service.upload(bare_service.report(header)) == [
        (header.report_id, ReportError.CANNOT_OPEN)
    ]
    assert bare_service.n() == 2


def test_only_the_failed_reports_of_a_request_are_named(bare_service: World) -> None:
    good = [bare_service.report() for _ in range(3)]
    bad = [bare_service.report(payload=b"\xff"), bare_service.report(bare_service.header(key_id=9))]
    failed = bare_service.upload(good[0], bad[0], good[1], bad[1], good[2], relay=True)
    assert failed == [
        (bad[0].header.report_id, ReportError.INVALID_MESSAGE),
        (bad[1].header.report_id, ReportError.OUTDATED_KEY),
    ]
    assert bare_service.n() == 3


def test_two_reports_need_a_relays_token(bare_service: World) -> None:
    reports = [bare_service.report(), bare_service.report()]
    wanted = [(report.header.report_id, ReportError.TOKEN_REQUIRED) for report in reports]
    assert bare_service.upload(*reports) == wanted
    assert bare_service.n() == 0
    assert bare_service.upload(*reports, relay=True) == []
    assert bare_service.n() == 2


def test_a_token_that_is_refused_is_told_even_for_one_report(bare_service: World) -> None:
    report = bare_service.report()
    [status] = bare_service.running.ingest.upload(
        "settings", encode_upload([report]), prefix=None, relay=False, token_refused=True
    )
    assert status.error == ReportError.TOKEN_INVALID
    assert bare_service.n() == 0


def test_rejections_are_counted_by_reason_and_duplicates_are_not(bare_service: World) -> None:
    report = bare_service.report()
    bare_service.upload(report)
    bare_service.upload(report)
    for _ in range(2):
        bare_service.upload(bare_service.report(payload=b"\xff"))
    bare_service.upload(bare_service.report(bare_service.header(epoch=TODAY + 5)))
    rejections = bare_service.running.store.rejections(bare_service.manifest.collection)
    assert rejections == {"invalid-message": 2, "too-early": 1}


def test_a_refused_report_leaves_no_id_and_may_be_sent_again_mended(bare_service: World) -> None:
    header = bare_service.header()
    bare_service.upload(bare_service.report(header, payload=b"\xff"))
    assert bare_service.upload(bare_service.report(header)) == []
    assert bare_service.n() == 1


def test_an_epoch_that_was_closed_early_is_refused_by_the_stored_fact(bare_service: World) -> None:
    bare_service.running.store.close_epoch(
        bare_service.manifest.collection, TODAY, bare_service.clock(), audit=None
    )
    for _ in range(2):
        report = bare_service.report()
        assert bare_service.upload(report) == [(report.header.report_id, ReportError.EPOCH_CLOSED)]
    assert bare_service.n() == 0
    rejections = bare_service.running.store.rejections(bare_service.manifest.collection)
    assert rejections == {"epoch-closed": 2}


def test_once_an_epoch_is_known_to_be_closed_its_reports_are_not_opened(
    bare_service: World,
) -> None:
    bare_service.running.store.close_epoch(
        bare_service.manifest.collection, TODAY, bare_service.clock(), audit=None
    )
    bare_service.upload(bare_service.report())
    garbage = Report(bare_service.header(), b"does not open")
    assert bare_service.upload(garbage) == [(garbage.header.report_id, ReportError.EPOCH_CLOSED)]


@pytest.mark.slow
def test_many_threads_that_send_the_same_reports_count_each_once(bare_service: World) -> None:
    bodies = [encode_upload([bare_service.report()]) for _ in range(20)] * 4

    def send(body: bytes) -> int:
        return len(bare_service.running.ingest.upload("settings", body, prefix=None, relay=False))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(send, bodies)) == 0
    assert bare_service.n() == 20


def problem(bare_service: World, body: bytes, collection: str = "settings") -> Problem:
    with pytest.raises(Problem) as refusal:
        bare_service.running.ingest.upload(collection, body, prefix="192.0.2", relay=False)
    return refusal.value


@pytest.mark.parametrize(
    "body", [b"", b"\x00", bytes(24), bytes(262_145), secrets.token_bytes(99)], ids=len
)
def test_a_body_that_is_no_message_is_refused_whole(bare_service: World, body: bytes) -> None:
    assert problem(bare_service, body).slug == "invalid-message"


def test_a_report_with_a_byte_too_many_is_refused_whole(bare_service: World) -> None:
    assert (
        problem(bare_service, encode_upload([bare_service.report()]) + b"\x00").slug
        == "invalid-message"
    )
    assert bare_service.n() == 0


def test_an_unknown_collection_is_refused_whole(bare_service: World) -> None:
    refusal = problem(bare_service, encode_upload([bare_service.report()]), "nothing-here")
    assert isinstance(refusal, UnknownCollection)
    assert refusal.status == 404


def test_an_unknown_collection_waits_for_a_database_that_is_away(
    bare_service: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may have registered it: the device sends its reports again."""

    def away() -> None:
        raise StoreUnavailableError("the database refuses: connection failed")

    monkeypatch.setattr(bare_service.running.registry, "refresh", away)
    refusal = problem(bare_service, encode_upload([bare_service.report()]), "nothing-here")
    assert (refusal.slug, refusal.status) == ("unavailable", 503)
    assert refusal.retry_after


def test_a_closed_collection_is_gone(bare_service: World) -> None:
    bare_service.running.registry.close(bare_service.manifest.collection, audit=None)
    assert problem(bare_service, encode_upload([bare_service.report()])).status == 410


def test_a_collection_is_gone_once_its_last_epoch_has_closed(bare_service: World) -> None:
    report = bare_service.report(bare_service.header(epoch=TODAY + 16))
    bare_service.clock.now = (TODAY + 19) * DAY
    assert bare_service.upload(report) == []
    bare_service.clock.now += 1
    refusal = problem(bare_service, encode_upload([report]))
    assert (refusal.status, refusal.slug) == (410, "collection-closed")


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[World]:
    """A service that takes two reports a network in ten seconds."""
    settings = replace(service_world.prepared(tmp_path), reports_per_minute_per_prefix=12)
    with service_world.opened(tmp_path, settings) as bare_service:
        yield bare_service


def test_a_network_over_its_rate_is_told_to_come_back_and_others_are_not(strict: World) -> None:
    bodies = [encode_upload([strict.report()]) for _ in range(4)]
    upload = strict.running.ingest.upload
    for body in bodies[:2]:
        upload("settings", body, prefix="192.0.2", relay=False)
    refusal = problem(strict, bodies[2])
    assert (refusal.status, refusal.slug) == (429, "too-many-requests")
    assert refusal.retry_after is not None
    assert 10 <= refusal.retry_after <= 20
    assert upload("settings", bodies[2], prefix="198.51.100", relay=False) == []
    assert upload("settings", bodies[3], prefix=None, relay=False) == []


def test_the_rate_comes_before_the_body_is_looked_at(strict: World) -> None:
    for _ in range(2):
        assert problem(strict, b"rubbish").slug == "invalid-message"
    assert problem(strict, b"rubbish").slug == "too-many-requests"


def test_the_rate_counts_reports_not_requests(strict: World) -> None:
    reports = [strict.report() for _ in range(3)]
    assert problem(strict, encode_upload(reports)).slug == "too-many-requests"


@pytest.mark.slow
def test_a_relay_is_not_limited_by_its_network(strict: World) -> None:
    assert strict.upload(*(strict.report() for _ in range(50)), relay=True) == []
    assert strict.n() == 50
