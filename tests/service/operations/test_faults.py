"""What disks and databases do to a service: 503 with Retry-After, then it goes on by itself."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from werkzeug.test import TestResponse

from deniable_aggregator.base.errors import StoreError
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.store.postgres import pool as postgres_pool
from deniable_aggregator.store.postgres import store as postgres_store
from deniable_aggregator.store.postgres.store import PostgresStore
from deniable_aggregator.store.rows import AcceptedReport, CommitStatus, TallyKernel
from deniable_aggregator.store.sqlite.store import SqliteStore
from deniable_gateway.upload import front
from deniable_gateway.upload.front import Bounds
from support.builders.api_world import DAY, TODAY, World, authored, opened
from support.builders.two_services import pair
from support.processes import postgres_server
from support.processes.deniable_command import wait_until

BITS = {"dark_mode": True, "beta": False}
LONG = 60.0
SMALL_DISK = "4m"
MOST_TAKEN = 1_000
"""Reports for which there is room in a database that may not grow any more."""


def n(service: World, collection: Collection) -> int:
    return sum(row.n for row in service.running.store.epochs(collection.id))


def refused(answer: TestResponse) -> None:
    """The Retry-After of devices: between 5 and 10 seconds, not all at once."""
    assert answer.status_code == 503
    assert 5 <= int(answer.headers["Retry-After"]) <= 10
    assert answer.get_json(force=True)["type"] == "urn:deniable:problem:unavailable"


def check_goes_through(
    service: World, collection: Collection, breaks: Callable[[], object]
) -> None:
    """Reports are taken until one meets the fault; that one comes again when it is over."""
    taken = [service.report(collection, BITS)]
    assert service.upload(collection, taken[0]).status_code == 200
    mend = breaks()
    assert callable(mend)
    for _ in range(MOST_TAKEN):
        met = service.report(collection, BITS)
        answer = service.upload(collection, met)
        if answer.status_code != 200:
            break
        taken.append(met)
    refused(answer)
    mend()
    for report in (met, met, *taken[:3]):
        assert service.upload(collection, report).status_code == 200
    assert n(service, collection) == len(taken) + 1


def writer(service: World) -> Callable[[str], Sequence[tuple[object, ...]]]:
    store = service.running.store
    assert isinstance(store, SqliteStore)
    connection = store._connections._writer
    return lambda sql: connection.execute(sql).fetchall()


@pytest.mark.slow
def test_a_database_that_may_not_grow_refuses_and_goes_on_when_it_may(service: World) -> None:
    found, run = service.register(authored()), writer(service)

    def full() -> Callable[[], object]:
        [[pages]] = run("pragma page_count")
        run(f"pragma max_page_count = {pages}")
        return lambda: run("pragma max_page_count = 1073741823")

    check_goes_through(service, found, full)


def test_a_database_that_is_read_only_refuses_and_goes_on_when_it_is_not(service: World) -> None:
    found, run = service.register(authored()), writer(service)

    def read_only() -> Callable[[], object]:
        run("pragma query_only = on")
        return lambda: run("pragma query_only = off")

    check_goes_through(service, found, read_only)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own; skips where this process may not mount one."""
    folder.mkdir()
    mount = ["/bin/mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system may be mounted here: {error}")
    try:
        yield folder
    finally:
        subprocess.run(["/bin/umount", str(folder)], check=True)


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 12))


@pytest.mark.slow
def test_a_disk_that_is_full_refuses_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, opened(disk) as service:
        found = service.register(authored())

        def full() -> Callable[[], object]:
            with pytest.raises(OSError, match="No space"):
                fill(disk / "ballast")
            return (disk / "ballast").unlink

        check_goes_through(service, found, full)


def test_with_a_slow_disk_few_uploads_wait_and_the_others_get_503(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front, "Bounds", lambda: Bounds(uploads=2))
    with opened(tmp_path, trusted_proxy=True) as service, ThreadPoolExecutor(2) as pool:
        found = service.register(authored())
        reports = [service.report(found, BITS) for _ in range(3)]
        arrived, through = threading.Semaphore(0), threading.Semaphore(0)
        commit = service.running.store.commit

        def slow(arrivals: Sequence[AcceptedReport], tally: TallyKernel) -> list[CommitStatus]:
            arrived.release()
            assert through.acquire(timeout=LONG)
            return commit(arrivals, tally)

        monkeypatch.setattr(service.running.store, "commit", slow)
        first = pool.submit(service.upload, found, reports[0])
        assert arrived.acquire(timeout=LONG)
        second = pool.submit(service.upload, found, reports[1])
        while not service.running.arrivals.waiting:
            threading.Event().wait(0.005)
        refused(service.upload(found, reports[2]))
        through.release(2)
        assert [first.result(LONG).status_code, second.result(LONG).status_code] == [200, 200]
        through.release()
        assert service.upload(found, reports[2]).status_code == 200
        assert n(service, found) == 3


@pytest.mark.slow
def test_a_database_server_that_stops_and_starts_again_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_pool, "WAIT_SECONDS", 0.5)
    monkeypatch.setattr(postgres_store, "PING_SECONDS", 0.5)
    with (
        postgres_server.restartable() as server,
        opened(tmp_path, store=server.get_uri()) as service,
    ):
        found = service.register(authored())
        service.running.tick()

        def stopped() -> Callable[[], object]:
            server.stop()
            assert (
                service.get("/readyz", None).get_json()["checks"]["database"] == "does not answer"
            )
            with pytest.raises(StoreError):
                service.running.tick()
            assert not service.running.store_health.up

            def start() -> None:
                server.ensure_postgres_running()
                answers(service)

            return start

        check_goes_through(service, found, stopped)
        with pytest.raises(StoreError):  # it learns that it leads no more
            service.running.tick()
        service.running.tick()
        assert service.running.store_health.up


def answers(service: World) -> None:
    """However long a server that was stopped takes to come back."""
    wait_until("it is found again", lambda: service.get("/readyz", None).status_code == 200)


@pytest.mark.slow
def test_when_the_leader_dies_another_keeps_house(tmp_path: Path) -> None:
    with pair(tmp_path) as (first, second):
        first.running.tick()
        second.running.tick()
        first.upload(first.report())
        first.clock.now += 9 * DAY
        second.running.tick()
        assert not second.running.store.is_closed(first.manifest.collection, TODAY)
        dead = first.running.store
        assert isinstance(dead, PostgresStore)
        dead._leadership.close()  # as the end of its process does
        second.running.tick()
        assert second.running.store.is_closed(first.manifest.collection, TODAY)
        assert b"led_timestamp_seconds 0.0" not in exposed(second.running)


def exposed(service: object) -> bytes:
    from prometheus_client import CollectorRegistry

    from deniable_aggregator.operations.service import Service

    assert isinstance(service, Service)
    return service.metrics.exposition(CollectorRegistry())
