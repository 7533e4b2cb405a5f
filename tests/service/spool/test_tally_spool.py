"""Blocks of a spool counted by many processes: the integers of uploads, once, come what may."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest

from deniable_aggregator.base.errors import KeyFileError, ScaleError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.keys.report_keys import ReportKeys
from deniable_aggregator.operations.service import Service
from deniable_aggregator.spool.block_tally import decode_block_tally, tally_block
from deniable_aggregator.spool.job import tally_spool
from deniable_aggregator.spool.local import LocalEngine
from deniable_aggregator.spool.worker_context import make_worker_context
from deniable_gateway.errors import SpoolError
from deniable_gateway.spool import SpooledReport, open_spool, write_block
from deniable_shared.wire.problems import ReportError
from support.builders import service_world
from support.builders.data_directory import prepared_on_postgres
from support.builders.service_world import DAY, TODAY, World, authored, prepared
from support.builders.spools import (
    Cells,
    cells,
    expected_of,
    here,
    mixed,
    quiet,
    spool,
    spooled,
    tally,
)
from support.processes import postgres_server
from support.tiers import grid

COHORTS = service_world.TOML.replace("min_batch = 1", "min_batch = 1\ncohorts = 64")


@pytest.fixture(params=grid(["sqlite", "postgres"], by_default=["sqlite"]))
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """A world over each kind of store."""
    on_postgres = request.param == "postgres"
    settings = (prepared_on_postgres if on_postgres else prepared)(tmp_path / "world")
    with service_world.opened(tmp_path / "world", settings) as opened:
        yield opened
    if on_postgres:
        postgres_server.drop(settings.store)


def blocks(made: Path) -> list[Path]:
    return sorted(made.iterdir())


def counted(bare_service: World) -> Cells:
    return cells(bare_service.running, bare_service.manifest.collection)


def four_blocks(bare_service: World, folder: Path, count: int = 40) -> tuple[Path, Cells]:
    """A spool, and what uploads of the same reports count in a copy of the world."""
    reports = mixed(bare_service, count)
    records = spooled(bare_service, reports)
    made = spool(folder / "spool", [records[at::4] for at in range(4)])
    return made, expected_of(count)


@pytest.mark.slow
@pytest.mark.parametrize("either", ["sqlite", "postgres"], indirect=True)
def test_a_spool_counts_what_uploads_would_have_counted(either: World, tmp_path: Path) -> None:
    made, expected = four_blocks(either, tmp_path)
    summary = tally(either.running, made, here)
    assert (summary.blocks, summary.records, summary.counted) == (4, 40, 40)
    assert (summary.duplicates, summary.refused, summary.damaged) == (0, {}, [])
    assert counted(either) == expected


@pytest.mark.slow
def test_a_repeated_job_does_nothing_and_another_job_changes_nothing(
    either: World, tmp_path: Path
) -> None:
    made, expected = four_blocks(either, tmp_path)
    tally(either.running, made, here)
    again = tally(either.running, made, here)
    assert (again.blocks, again.before, again.records) == (0, 4, 0)
    other = tally(either.running, made, here, job="other")
    assert (other.blocks, other.counted, other.duplicates) == (4, 0, 40)
    assert counted(either) == expected


@pytest.mark.slow
def test_what_came_by_upload_before_is_taken_off_the_partial_tallies(
    either: World, tmp_path: Path
) -> None:
    reports = mixed(either, 30)
    assert either.upload(*reports[:10], relay=True) == []
    records = spooled(either, reports)
    made = spool(tmp_path / "spool", [records[5:20], records[15:30]])
    summary = tally(either.running, made, here)
    assert (summary.counted, summary.duplicates) == (20, 10)
    assert either.upload(*reports, relay=True) == []
    assert counted(either) == expected_of(30)


def test_an_id_twice_in_one_block_counts_once(bare_service: World, tmp_path: Path) -> None:
    records = spooled(bare_service, mixed(bare_service, 3))
    summary = tally(bare_service.running, spool(tmp_path / "spool", [[*records, records[0]]]), here)
    assert (summary.records, summary.counted, summary.duplicates) == (4, 3, 1)


@pytest.mark.slow
def test_a_transaction_holds_an_eighth_of_what_the_job_has_counted(
    bare_service: World, tmp_path: Path
) -> None:
    made = spool(
        tmp_path / "spool", [[each] for each in spooled(bare_service, mixed(bare_service, 28))]
    )
    heard: list[int] = []
    tally_spool(bare_service.running, made, here, progress=lambda done, total: heard.append(done))
    assert heard[0] == 1
    assert heard[-1] == 28
    assert {later - done for done, later in itertools.pairwise(heard) if done < 8} == {1}
    assert max(later - done for done, later in itertools.pairwise(heard)) in {3, 4}
    assert counted(bare_service) == expected_of(28)


def test_every_refusal_is_the_one_an_upload_gets(bare_service: World, tmp_path: Path) -> None:
    wrong = {
        ReportError.TOO_EARLY: bare_service.report(bare_service.header(epoch=TODAY + 9)),
        ReportError.NOT_STARTED: bare_service.report(bare_service.header(epoch=1)),
        ReportError.MANIFEST_UNKNOWN: bare_service.report(bare_service.header(manifest_version=7)),
        ReportError.OUTDATED_KEY: bare_service.report(bare_service.header(key_id=9)),
        ReportError.INVALID_MESSAGE: bare_service.report(payload=b"\x01"),
        ReportError.EPOCH_CLOSED: bare_service.report(bare_service.header(epoch=TODAY - 5)),
    }
    records = [
        *spooled(bare_service, wrong.values()),
        SpooledReport(bare_service.manifest.collection, b"no report"),
    ]
    records.append(SpooledReport("nobody-aaaaaa", bare_service.report().encode()))
    summary = tally(bare_service.running, spool(tmp_path / "spool", [records]), here)
    expected = {(bare_service.manifest.collection, error.slug): 1 for error in wrong}
    expected[bare_service.manifest.collection, "invalid-message"] = 2
    assert summary.refused == {**expected, ("nobody-aaaaaa", "unknown-collection"): 1}
    assert (summary.counted, counted(bare_service)) == (0, {})
    rejections = bare_service.running.store.rejections(bare_service.manifest.collection)
    assert rejections == {reason: n for (_, reason), n in expected.items()}


@pytest.mark.slow
def test_an_epoch_closed_while_blocks_are_opened_stays_as_it_is(
    either: World, tmp_path: Path
) -> None:
    made, _ = four_blocks(either, tmp_path)

    def close_then_give(*arguments: object) -> Iterator[bytes]:
        results = list(here(*arguments))  # type: ignore[arg-type]  # as it was called
        either.running.store.close_epoch(
            either.manifest.collection, TODAY, either.clock(), audit=None
        )
        yield from results

    summary = tally(either.running, made, close_then_give)
    assert summary.counted == 20
    assert summary.refused == {(either.manifest.collection, "epoch-closed"): 20}
    assert [key[0] for key in counted(either)] == [TODAY - 1]


@pytest.mark.slow
def test_a_collection_that_has_ended_takes_nothing(bare_service: World, tmp_path: Path) -> None:
    made, _ = four_blocks(bare_service, tmp_path)
    bare_service.running.registry.close(bare_service.manifest.collection, audit=None)
    summary = tally(bare_service.running, made, here)
    assert summary.refused == {(bare_service.manifest.collection, "collection-expired"): 40}
    assert counted(bare_service) == {}


@pytest.mark.slow
def test_cohorts_are_those_of_uploads(tmp_path: Path) -> None:
    with service_world.opened(tmp_path / "world") as bare_service:
        manifest = service_world.authored(COHORTS.replace('name = "settings"', 'name = "split"'))
        bare_service.running.registry.apply(bare_service.signed(manifest), audit=None)
        bare_service.manifest = manifest
        reports = [bare_service.report(manifest=manifest) for _ in range(64)]
        assert bare_service.upload(*reports, relay=True) == []
        before = cells(bare_service.running, manifest.collection)
        order = make_worker_context(
            bare_service.running, bare_service.running.settings.data / "keys"
        )
        made = spool(tmp_path / "spool", [spooled(bare_service, reports)])
        [path] = blocks(made)
        parts = decode_block_tally(tally_block(order, str(made), path.name)).partial_tallies()
    assert {part.key.cohort: (len(part.ids), part.tally.tolist()) for part in parts} == {
        cohort: found for (_, _, cohort), found in before.items()
    }
    assert len(parts) > 1


@pytest.mark.slow
def test_a_damaged_block_counts_nothing_and_is_tried_again(
    bare_service: World, tmp_path: Path
) -> None:
    made, expected = four_blocks(bare_service, tmp_path)
    path = blocks(made)[1]
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    summary = tally(bare_service.running, made, here)
    assert (summary.blocks, len(summary.damaged)) == (3, 1)
    assert path.name in summary.damaged[0]
    path.write_bytes(whole)
    assert tally(bare_service.running, made, here).blocks == 1
    assert counted(bare_service) == expected


@pytest.mark.slow
def test_a_block_with_vouchers_is_left_to_those_who_redeem_them(
    bare_service: World, tmp_path: Path
) -> None:
    made, expected = four_blocks(bare_service, tmp_path)
    asking = service_world.TOML.replace('"settings"', '"vouched"', 1)
    vouched = authored('requires = ["voucher/1"]\n' + asking)
    bare_service.running.registry.apply(bare_service.signed(vouched), audit=None)
    write_block(
        open_spool(made),
        [SpooledReport(vouched.collection, bare_service.report(manifest=vouched).encode())],
    )
    for name in ("first", "second"):
        summary = tally_spool(
            bare_service.running, made, here, job=name, remove=True, progress=quiet
        )
        assert "with vouchers: count it with `deniable spool drain`" in summary.damaged[0]
        assert len(blocks(made)) == 1
    assert counted(bare_service) == expected


@pytest.mark.slow
def test_counted_blocks_are_deleted_when_asked_and_damaged_ones_stay(
    bare_service: World, tmp_path: Path
) -> None:
    made, expected = four_blocks(bare_service, tmp_path)
    paths = blocks(made)
    tally(bare_service.running, made, here, job="first")
    assert blocks(made) == paths
    paths[2].write_bytes(b"damaged")
    tally_spool(bare_service.running, made, here, job="second", remove=True, progress=quiet)
    assert blocks(made) == [paths[2]]
    tally_spool(bare_service.running, made, here, job="first", remove=True, progress=quiet)
    assert blocks(made) == []
    assert counted(bare_service) == expected


@pytest.mark.slow
def test_a_worker_without_the_right_keys_refuses_instead_of_losing_reports(
    bare_service: World, tmp_path: Path
) -> None:
    made, _ = four_blocks(bare_service, tmp_path)
    other = tmp_path / "other"
    prepared(other)
    ReportKeys(other / "data" / "keys").make(7, 1)
    (other / "data" / "keys" / "report-1.key").unlink()
    with pytest.raises(KeyFileError, match=r"lacks report-1\.key"):
        tally_spool(bare_service.running, made, here, keys=other / "data" / "keys", progress=quiet)
    assert counted(bare_service) == {}


@pytest.mark.parametrize("job", ["", "x" * 101, "a\nb"])
def test_a_job_has_a_name_that_can_be_read(bare_service: World, tmp_path: Path, job: str) -> None:
    with pytest.raises(ScaleError, match=r"job must be 1…100 printable"):
        tally(bare_service.running, spool(tmp_path / "spool", []), here, job=job)


def test_nothing_is_said_of_relays_where_a_spool_is_counted(tmp_path: Path) -> None:
    settings = replace(prepared(tmp_path / "world"), relay_batch=100)
    refused = pytest.raises(ScaleError, match="relay_batch must be 0")
    with service_world.opened(tmp_path / "world", settings) as bare_service, refused:
        tally(bare_service.running, spool(tmp_path / "spool", []), here)


def test_an_empty_spool_is_no_work_and_none_at_all_is_an_error(
    bare_service: World, tmp_path: Path
) -> None:
    assert tally(bare_service.running, spool(tmp_path / "spool", []), here).blocks == 0
    with pytest.raises(SpoolError, match="there is no directory"):
        tally(bare_service.running, tmp_path / "elsewhere", here)


@pytest.mark.exhaustive
@pytest.mark.processes
def test_processes_count_the_same_and_killed_ones_lose_and_double_nothing(
    bare_service: World, tmp_path: Path
) -> None:
    reports = mixed(bare_service, 160)
    records = spooled(bare_service, reports)
    made = spool(tmp_path / "spool", [records[at::16] for at in range(16)])
    heard: list[int] = []

    def kill_them(done: int, total: int) -> None:
        heard.append(done)
        for child in active_children():
            assert child.pid is not None
            with suppress(ProcessLookupError):  # the pool has just waited for it
                os.kill(child.pid, signal.SIGKILL)

    with pytest.raises(ScaleError, match="run the same command again"):
        tally_spool(bare_service.running, made, LocalEngine(2), progress=kill_them)
    assert 0 < heard[-1] < 16
    rest = tally(bare_service.running, made, LocalEngine(2))
    assert rest.before == heard[-1]
    assert rest.counted == 160 - 10 * heard[-1]
    assert f"{os.uname().nodename}:{os.getpid()}" not in rest.processes
    assert counted(bare_service) == expected_of(160)


@pytest.mark.slow
def test_a_clock_that_has_passed_the_grace_closes_epochs_for_spools_too(
    bare_service: World, tmp_path: Path
) -> None:
    made, _ = four_blocks(bare_service, tmp_path)
    bare_service.clock.now += 4 * DAY
    summary = tally(bare_service.running, made, here)
    assert summary.refused == {(bare_service.manifest.collection, "epoch-closed"): 40}


@pytest.mark.slow
def test_of_two_jobs_at_once_one_counts_each_block(
    tmp_path: Path,
) -> None:
    settings = prepared_on_postgres(tmp_path / "world")
    with service_world.opened(tmp_path / "world", settings) as bare_service:
        made, expected = four_blocks(bare_service, tmp_path)
        second = Service.open(
            Settings(data=settings.data, store=settings.store), clock=bare_service.clock
        )

        def other_first(*arguments: object) -> Iterator[bytes]:
            results = list(here(*arguments))  # type: ignore[arg-type]  # as it was called
            tally(second, made, here)
            yield from results

        late = tally(bare_service.running, made, other_first)
        assert (late.blocks, late.before, late.counted) == (0, 4, 0)
        assert counted(bare_service) == expected
        second.close()
    postgres_server.drop(settings.store)
