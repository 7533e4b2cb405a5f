"""Ingest without keys, and a consumer without uploads: each report counts once after any kill."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from deniable_aggregator.operations.service import Service
from deniable_gateway.errors import SpoolError
from deniable_gateway.problem import Problem
from deniable_gateway.spool import SpooledReport, read_block, write_block
from deniable_gateway.spool.intake import KeylessIntake
from deniable_gateway.spool.options import IntakeOptions
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import Extension, Report, ReportHeader
from deniable_shared.wire.voucher import decode_voucher, format_key, issue
from support.builders import split_service
from support.builders.api_world import authored
from support.builders.data_directory import DAY, TODAY
from support.builders.relay_world import tell
from support.builders.split_service import YES, Split
from support.builders.spool_places import Killed, killed_at
from support.tiers import by_tier, grid

OPTIONS: dict[str, dict[str, Any]] = {
    "directory": {},
    "moved": {"wait_ms": 0},
    "s3": {"wait_ms": 0, "block_format": "parquet"},
    "database": {"block_format": "parquet"},
}


PLACES = [
    ("sqlite", "directory"),
    ("postgres", "directory"),
    ("sqlite", "moved"),
    ("sqlite", "s3"),
    ("sqlite", "database"),
]
"""Each kind of database, each kind of place and both formats of blocks."""

EACH_FORMAT = pytest.mark.parametrize(
    "split",
    grid(PLACES, by_default=[("sqlite", "directory"), ("sqlite", "database")]),
    ids="-".join,
    indirect=True,
)
"""Of what blocks and their places do: each format once by default."""


@pytest.fixture(params=grid(PLACES, by_default=[("sqlite", "directory")]), ids="-".join)
def split(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Split]:
    store, place = request.param
    with split_service.opened(tmp_path, store, place, intake_options=OPTIONS[place]) as split:
        yield split


@EACH_FORMAT
def test_what_the_intake_took_the_consumer_counts_once(split: Split) -> None:
    reports = split.take(5)
    assert split.upload(reports[0]).codes == []  # a device's retry
    assert split.n() == 0
    assert split.consumer.run_once() == 6
    assert (split.n(), split.waiting()) == (5, [])


@EACH_FORMAT
def test_the_intake_has_no_key_and_no_database(split: Split) -> None:
    everything = vars(split.intake) | vars(split.intake.uploads)
    assert not any(isinstance(part, Service) for part in everything.values())
    assert split.place.spool.files() == []
    assert b"hpke-" not in split.place.spool.read_notices()


def test_devices_get_at_the_intake_what_the_service_publishes(split: Split) -> None:
    name = split.collection.id
    for path in ("/v1/keys", f"/v1/collections/{name}/manifest", "/v1/collections"):
        original = split.world.get(path, None)
        assert tell(split.intake.app, "GET", path).body == original.data


REFUSED: dict[ReportError, dict[str, Any]] = {
    ReportError.TOO_EARLY: {"epoch": TODAY + 2},
    ReportError.NOT_STARTED: {"epoch": 1},
    ReportError.EPOCH_CLOSED: {"epoch": TODAY - 4},
    ReportError.MANIFEST_UNKNOWN: {"manifest_version": 2},
    ReportError.OUTDATED_KEY: {"key_id": 9},
    ReportError.UNKNOWN_EXTENSION: {"extensions": (Extension(1, b"?"),)},
}


def test_the_intake_answers_in_the_open_as_the_service_does(split: Split) -> None:
    answers = {}
    for code, changed in REFUSED.items():
        given = {"epoch": TODAY, "manifest_version": 1, "key_id": 1, **changed}
        report = Report(ReportHeader(bytes(16), **given), split.report().sealed)
        answers[code] = split.upload(report).codes
    assert answers == {code: [code] for code in REFUSED}
    assert split.waiting() == []


def test_an_epoch_that_was_closed_early_is_closed_at_the_intake(split: Split) -> None:
    split.take(1)
    split.consumer.run_once(at_once=True)
    split.world.running.store.close_epoch(split.collection.id, TODAY, split.clock(), audit=None)
    split.publish()
    assert split.upload(split.report()).codes == [ReportError.EPOCH_CLOSED]


def test_one_report_of_each_person_is_counted_where_vouchers_are_required(split: Split) -> None:
    world = split.world
    survey = world.register(authored("survey", more='requires = ["voucher/1"]\n'))
    split.publish()
    key = format_key(world.running.voucher_keys.of(survey.id, TODAY))
    for person in ("ana", "ana", "bo"):
        voucher = decode_voucher(issue(key, collection=survey.id, epoch=TODAY, person=person))
        report = world.report(survey, YES, extensions=(Extension(1, voucher),))
        assert split.upload(report, to=survey).codes == []
    split.consumer.run_once(at_once=True)
    assert [row.n for row in world.running.store.epochs(survey.id)] == [2]
    assert world.running.store.rejections(survey.id) == {"voucher-spent": 1}


def test_what_does_not_open_is_counted_as_refused(split: Split) -> None:
    split.take(1)
    forged = split.report()
    assert split.upload(Report(forged.header, bytes(len(forged.sealed)))).codes == []
    split.consumer.run_once()
    assert split.n() == 1
    assert split.world.running.store.rejections(split.collection.id) == {"cannot-open": 1}


def test_a_report_to_a_replaced_key_still_opens(split: Split) -> None:
    report = split.report()
    split.world.running.keys.rotate(1, at_once=True, audit=None)
    split.consumer.publish()
    split.intake.tick()
    assert split.upload(report).codes == []
    split.consumer.run_once()
    assert split.n() == 1


@pytest.mark.slow
def test_the_consumer_waits_for_enough_reports_or_for_its_time(split: Split) -> None:
    limits = {"min_reports": 3, "interval_seconds": 600}
    split.new_consumer(**limits).run_once()  # there was no consumer before
    split.take(2)
    assert split.new_consumer(**limits).run_once() == 0
    split.take(1)
    assert split.new_consumer(**limits).run_once() == 3
    split.take(1)
    split.clock.now += 599
    assert split.new_consumer(**limits).run_once() == 0
    split.clock.now += 1
    assert split.new_consumer(**limits).run_once() == 1


def test_when_epochs_close_does_not_depend_on_how_many_reports_came(split: Split) -> None:
    consumer = split.new_consumer(min_reports=3, interval_seconds=600)
    consumer.run_once()
    before = split.world.running.store.spool_progress()
    split.clock.now += 300
    split.take(3)
    assert consumer.run_once() == 3
    assert split.world.running.store.spool_progress() == before
    split.clock.now += 300
    consumer.run_once()
    assert split.world.running.store.spool_progress() == {
        place: t + 600 for place, t in before.items()
    }


def test_a_consumer_that_is_to_count_at_once_does_not_wait(split: Split) -> None:
    consumer = split.new_consumer(min_reports=3)
    consumer.run_once()
    split.take(1)
    assert [consumer.run_once(), consumer.run_once(at_once=True)] == [0, 1]


@pytest.mark.slow
def test_an_epoch_closes_only_after_all_that_was_taken_in_time_is_counted(split: Split) -> None:
    closes = (TODAY + 1) * DAY + split.collection.manifest.grace_seconds
    consumer = split.new_consumer(min_reports=1_000, interval_seconds=3 * DAY)
    split.take(1)
    consumer.run_once()
    split.clock.now = float(closes)
    split.intake.tick()
    split.take(3, epoch=TODAY)  # in the last second
    split.clock.now = closes + 3_600.0
    consumer.run_once()
    assert not split.is_closed(TODAY)
    split.clock.now = closes + 2.0 * DAY
    assert consumer.run_once() == 3
    assert split.n() == 4
    assert split.is_closed(TODAY)


@EACH_FORMAT
def test_a_damaged_block_is_set_aside_and_the_others_are_counted(split: Split) -> None:
    split.take(2)
    spool, damaged = split.place.spool, split.waiting()[0]
    whole = spool.get(damaged)
    split.place.replace(damaged, whole[:-1])
    write_block(spool, [SpooledReport("unheard-of", split.report().encode())])
    write_block(spool, [SpooledReport(split.collection.id, b"no report")])
    split.consumer.run_once()
    assert split.n() == 1
    assert split.waiting() == []
    assert len(split.place.set_aside()) == 2
    assert split.place.set_aside()[damaged] == whole[:-1]


def test_an_intake_without_notices_asks_devices_to_come_later(tmp_path: Path) -> None:
    intake = KeylessIntake(IntakeOptions(str(tmp_path)))
    intake.tick()
    assert tell(intake.app, "GET", "/v1/keys").status == 503
    with pytest.raises(SpoolError):
        KeylessIntake(IntakeOptions(str(tmp_path / "nowhere")))


@pytest.mark.slow
@EACH_FORMAT
def test_whatever_kills_the_intake_what_it_acknowledged_is_in_whole_blocks(split: Split) -> None:
    for step in count():
        reports, acknowledged = [split.report() for _ in range(2)], []
        with killed_at(step, split.place.kind) as seen:
            try:
                for report in reports:
                    if split.upload(report).status == 200:
                        acknowledged.append(report.encode())
            except Killed:
                pass
        split.intake = split.new_intake()
        split.intake.tick()
        spool = split.place.spool
        kept = [each.report for name in split.waiting() for each in read_block(spool, name)]
        assert set(acknowledged) <= set(kept)
        if seen[0] <= step:
            assert step >= 6
            return


@pytest.mark.slow
@pytest.mark.deeper
@EACH_FORMAT
def test_whatever_kills_the_consumer_the_next_one_counts_each_report_once(split: Split) -> None:
    total = 0
    for step in count(step=by_tier(4, 1)):
        split.take(3)
        total += 3
        with killed_at(step, split.place.kind) as seen, suppress(Killed):
            split.new_consumer().run_once(at_once=True)
        split.new_consumer().run_once(at_once=True)
        assert (split.n(), split.waiting()) == (total, [])
        if seen[0] <= step:
            assert step >= 3
            return


@pytest.mark.slow
def test_a_database_that_refuses_loses_nothing(
    split: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(reports: object) -> list[object]:
        raise OSError("the disk is full")

    split.take(3)
    with monkeypatch.context() as patched:
        patched.setattr(split.world.running.ingest, "_commit", full)
        with pytest.raises(Problem, match="could not be stored"):
            split.consumer.run_once()
    assert len(split.waiting()) == 3
    split.new_consumer().run_once()
    assert split.n() == 3
