"""The same integers from every place and format of a spool, by every engine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from deniable_aggregator.spool.job import tally_spool
from deniable_aggregator.spool.local import LocalEngine
from deniable_gateway.errors import ExtraError, SpoolError
from deniable_gateway.spool import blocks, open_spool
from support.builders.service_world import World
from support.builders.spool_places import KINDS, Place, place_of
from support.builders.spools import (
    cells,
    expected_of,
    fill,
    here,
    mixed,
    prepare,
    quiet,
    spooled,
    tally,
)
from support.doubles import s3_server
from support.processes.deniable_command import Deniable, wait_until
from support.tiers import grid


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with place_of(request.param, tmp_path) as made:
        yield made


def names(place: Place) -> list[str]:
    return [block.name for block in blocks(place.spool)]


def filled(bare_service: World, place: Place) -> None:
    """Forty reports in four blocks, two of each format."""
    records = spooled(bare_service, mixed(bare_service, 40))
    fill(place.address, [records[at::4] for at in range(2)])
    fill(place.address, [records[at::4] for at in range(2, 4)], "parquet")


@pytest.mark.slow
def test_every_place_and_both_formats_give_the_integers_of_uploads(
    bare_service: World, place: Place
) -> None:
    filled(bare_service, place)
    summary = tally(bare_service.running, place.address, here)
    assert (summary.blocks, summary.records, summary.counted) == (4, 40, 40)
    assert cells(bare_service.running, bare_service.manifest.collection) == expected_of(40)
    again = tally(bare_service.running, place.address, here)
    assert (again.blocks, again.before) == (0, 4)


@pytest.mark.slow
@pytest.mark.parametrize("place", grid(KINDS, by_default=["directory", "database"]), indirect=True)
def test_damaged_blocks_are_named_kept_and_tried_again(bare_service: World, place: Place) -> None:
    filled(bare_service, place)
    [plain, columns] = [next(n for n in names(place) if n.endswith(e)) for e in ("k", "parquet")]
    whole = {name: place.spool.get(name) for name in (plain, columns)}
    for name, data in whole.items():
        place.replace(name, data[:-9] + bytes(9))
    summary = tally_spool(bare_service.running, place.address, here, remove=True, progress=quiet)
    assert (summary.blocks, summary.counted) == (2, 20)
    assert [[name for name in whole if name in said] for said in summary.damaged] == [
        [name] for name in sorted(whole)
    ]
    assert names(place) == sorted(whole)
    for name, data in whole.items():
        place.replace(name, data)
    tally_spool(bare_service.running, place.address, here, remove=True, progress=quiet)
    assert names(place) == []
    assert cells(bare_service.running, bare_service.manifest.collection) == expected_of(40)


@pytest.mark.slow
def test_a_worker_without_pyarrow_stops_the_job_with_the_cure(
    bare_service: World, tmp_path: Path
) -> None:
    with place_of("directory", tmp_path) as place:
        filled(bare_service, place)
        with (
            patch("deniable_gateway.spool.object_store.find_spec", lambda name: None),
            pytest.raises(ExtraError, match="pip install"),
        ):
            tally(bare_service.running, place.address, here)
        assert len(names(place)) == 4
        assert tally(bare_service.running, place.address, here).counted <= 40
        assert cells(bare_service.running, bare_service.manifest.collection) == expected_of(40)


@pytest.mark.slow
def test_a_bucket_that_is_not_there_is_an_error_and_not_an_empty_spool(
    bare_service: World, tmp_path: Path
) -> None:
    with (
        place_of("s3", tmp_path) as place,
        pytest.raises(SpoolError, match="there is no bucket"),
    ):
        tally(bare_service.running, place.address.replace("bucket-", "other-"), here)


@pytest.mark.processes
@pytest.mark.parametrize("kind", grid(["s3", "database"], by_default=["s3"]))
def test_processes_read_the_address_themselves(
    bare_service: World, tmp_path: Path, kind: str
) -> None:
    with place_of(kind, tmp_path) as place:
        filled(bare_service, place)
        summary = tally(bare_service.running, place.address, LocalEngine(1))
        assert summary.counted == 40
        assert f"{os.uname().nodename}:{os.getpid()}" not in summary.processes
    assert cells(bare_service.running, bare_service.manifest.collection) == expected_of(40)


@pytest.mark.exhaustive
@pytest.mark.processes
def test_a_driver_killed_over_an_object_store_leaves_the_rest(
    tmp_path: Path,
) -> None:
    with place_of("s3", tmp_path) as place:
        made = prepare(tmp_path / "made", 120, 30)
        for block in blocks(open_spool(made.spool)):
            place.spool.put(block.name, open_spool(made.spool).get(block.name))
        deniable = Deniable(tmp_path / "made")
        run = ["spool", "tally", "--spool", place.address, "--processes", "1", "--remove"]
        with deniable.process(*run) as process:
            wait_until("a block is counted", lambda: made.blocks_done() > 0, 60)
            process.send_signal(signal.SIGKILL)
            process.wait(30)
        done = made.blocks_done()
        assert 0 < done < 30
        rest = deniable.json(*run)
        assert (rest["blocks"], rest["duplicates"], names(place)) == (30 - done, 0, [])
        assert made.counted() == made.expected()


@pytest.mark.processes
def test_a_writer_killed_with_its_object_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys\nfrom deniable_gateway.spool import *\n"
        "write_block(open_spool(sys.argv[1]), [SpooledReport('a', bytes(100_000))] * 90)\n"
    )
    with place_of("s3", tmp_path) as place, s3_server.server().held():
        run = [sys.executable, "-c", code, place.address]
        with subprocess.Popen(run, env=os.environ) as process:
            assert s3_server.server().arrived.wait(60)
            process.kill()
        assert place.spool.files() == []
