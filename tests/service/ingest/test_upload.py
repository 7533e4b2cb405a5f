"""One request to the end: counted once, refused with a code, or refused as a whole."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deniable_aggregator.collections.registry import UnknownCollection
from deniable_gateway.problem import Problem
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import Report, encode_upload
from support.builders import service_world
from support.builders.service_world import DAY, TODAY, TOML, World, authored


def test_a_report_is_counted_in_the_cell_of_its_epoch_and_version(world: World) -> None:
    assert world.upload(world.report(payload=b"\xa0")) == []
    [row] = world.service.store.tallies(world.manifest.collection, 0, 2**32)
    assert (row.key.epoch, row.key.manifest_version, row.n) == (TODAY, 1, 1)
    assert np.array_equal(row.tally, [1, 0, 1])


def test_a_duplicate_is_accepted_and_counted_once(world: World) -> None:
    report = world.report()
    assert world.upload(report) == []
    assert world.upload(report) == []
    assert world.n() == 1


def test_a_report_sealed_anew_under_the_same_id_is_a_duplicate(world: World) -> None:
    header = world.header()
    world.upload(world.report(header, payload=b"\xe0"))
    assert world.upload(world.report(header, payload=b"\x00")) == []
    [row] = world.service.store.tallies(world.manifest.collection, 0, 2**32)
    assert row.tally.tolist() == [1, 1, 1]


def test_an_older_manifest_version_still_counts(world: World) -> None:
    newer = authored(TOML.replace("min_batch = 1", "min_batch = 5"), previous=world.manifest)
    world.service.registry.apply(world.signed(newer), audit=None)
    header = world.header(manifest_version=2)
    assert world.upload(world.report()) == []
    assert world.upload(world.report(header, manifest=newer)) == []
    assert world.upload(world.report(header)) == [(header.report_id, ReportError.CANNOT_OPEN)]
    assert world.n() == 2


def test_only_the_failed_reports_of_a_request_are_named(world: World) -> None:
    good = [world.report() for _ in range(3)]
    bad = [world.report(payload=b"\xff"), world.report(world.header(key_id=9))]
    failed = world.upload(good[0], bad[0], good[1], bad[1], good[2], relay=True)
    assert failed == [
        (bad[0].header.report_id, ReportError.INVALID_MESSAGE),
        (bad[1].header.report_id, ReportError.OUTDATED_KEY),
    ]
    assert world.n() == 3


def test_two_reports_need_a_relays_token(world: World) -> None:
    reports = [world.report(), world.report()]
    wanted = [(report.header.report_id, ReportError.TOKEN_REQUIRED) for report in reports]
    assert world.upload(*reports) == wanted
    assert world.n() == 0
    assert world.upload(*reports, relay=True) == []
    assert world.n() == 2


def test_a_token_that_is_refused_is_told_even_for_one_report(world: World) -> None:
    report = world.report()
    [status] = world.service.ingest.upload(
        "settings", encode_upload([report]), prefix=None, relay=False, token_refused=True
    )
    assert status.error == ReportError.TOKEN_INVALID
    assert world.n() == 0


def test_rejections_are_counted_by_reason_and_duplicates_are_not(world: World) -> None:
    report = world.report()
    world.upload(report)
    world.upload(report)
    for _ in range(2):
        world.upload(world.report(payload=b"\xff"))
    world.upload(world.report(world.header(epoch=TODAY + 5)))
    rejections = world.service.store.rejections(world.manifest.collection)
    assert rejections == {"invalid-message": 2, "too-early": 1}


def test_a_refused_report_leaves_no_id_and_may_be_sent_again_mended(world: World) -> None:
    header = world.header()
    world.upload(world.report(header, payload=b"\xff"))
    assert world.upload(world.report(header)) == []
    assert world.n() == 1


def test_an_epoch_that_was_closed_early_is_refused_by_the_stored_fact(world: World) -> None:
    world.service.store.close_epoch(world.manifest.collection, TODAY, world.clock(), audit=None)
    for _ in range(2):
        report = world.report()
        assert world.upload(report) == [(report.header.report_id, ReportError.EPOCH_CLOSED)]
    assert world.n() == 0
    rejections = world.service.store.rejections(world.manifest.collection)
    assert rejections == {"epoch-closed": 2}


def test_once_an_epoch_is_known_to_be_closed_its_reports_are_not_opened(world: World) -> None:
    world.service.store.close_epoch(world.manifest.collection, TODAY, world.clock(), audit=None)
    world.upload(world.report())
    garbage = Report(world.header(), b"does not open")
    assert world.upload(garbage) == [(garbage.header.report_id, ReportError.EPOCH_CLOSED)]


def test_many_threads_that_send_the_same_reports_count_each_once(world: World) -> None:
    bodies = [encode_upload([world.report()]) for _ in range(20)] * 4

    def send(body: bytes) -> int:
        return len(world.service.ingest.upload("settings", body, prefix=None, relay=False))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(send, bodies)) == 0
    assert world.n() == 20


def problem(world: World, body: bytes, collection: str = "settings") -> Problem:
    with pytest.raises(Problem) as refusal:
        world.service.ingest.upload(collection, body, prefix="192.0.2", relay=False)
    return refusal.value


@pytest.mark.parametrize(
    "body", [b"", b"\x00", bytes(24), bytes(262_145), secrets.token_bytes(99)], ids=len
)
def test_a_body_that_is_no_message_is_refused_whole(world: World, body: bytes) -> None:
    assert problem(world, body).slug == "invalid-message"


def test_a_report_with_a_byte_too_many_is_refused_whole(world: World) -> None:
    assert problem(world, encode_upload([world.report()]) + b"\x00").slug == "invalid-message"
    assert world.n() == 0


def test_an_unknown_collection_is_refused_whole(world: World) -> None:
    refusal = problem(world, encode_upload([world.report()]), "nothing-here")
    assert isinstance(refusal, UnknownCollection)
    assert refusal.status == 404


def test_a_closed_collection_is_gone(world: World) -> None:
    world.service.registry.close(world.manifest.collection, audit=None)
    assert problem(world, encode_upload([world.report()])).status == 410


def test_a_collection_is_gone_once_its_last_epoch_has_closed(world: World) -> None:
    report = world.report(world.header(epoch=TODAY + 16))
    world.clock.now = (TODAY + 19) * DAY
    assert world.upload(report) == []
    world.clock.now += 1
    refusal = problem(world, encode_upload([report]))
    assert (refusal.status, refusal.slug) == (410, "collection-closed")


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[World]:
    """A service that takes two reports a network in ten seconds."""
    settings = replace(service_world.prepared(tmp_path), reports_per_minute_per_prefix=12)
    with service_world.opened(tmp_path, settings) as world:
        yield world


def test_a_network_over_its_rate_is_told_to_come_back_and_others_are_not(strict: World) -> None:
    bodies = [encode_upload([strict.report()]) for _ in range(4)]
    upload = strict.service.ingest.upload
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


def test_a_relay_is_not_limited_by_its_network(strict: World) -> None:
    assert strict.upload(*(strict.report() for _ in range(50)), relay=True) == []
    assert strict.n() == 50
