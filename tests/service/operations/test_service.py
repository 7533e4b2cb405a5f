"""One service a directory: the lock, opening, ticking, closing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deniable_aggregator.base.errors import KeyFileError, StoreError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_aggregator.store.sqlite.store import SqliteStore
from deniable_gateway.directory_lock import DirectoryLock
from deniable_gateway.errors import DataDirectoryError, LockedError
from support.builders import service_world
from support.builders.service_world import NOON, World


def test_a_second_service_is_told_who_has_the_directory(bare_service: World) -> None:
    with pytest.raises(
        LockedError,
        match=f"process {os.getpid()} has .* open: .* try again in a moment; else stop it, or",
    ):
        Service.open(bare_service.running.settings)


def test_the_directory_is_free_again_after_closing(tmp_path: Path) -> None:
    settings = service_world.prepared(tmp_path)
    for _ in range(2):
        Service.open(settings, clock=lambda: NOON).close()


def test_the_lock_of_a_process_that_was_killed_is_gone(tmp_path: Path) -> None:
    settings = service_world.prepared(tmp_path)
    code = (
        "import os, sys; from pathlib import Path\n"
        "from deniable_gateway.directory_lock import DirectoryLock\n"
        "DirectoryLock.acquire(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    )
    run = subprocess.run([sys.executable, "-c", code, str(settings.data)], check=False)
    assert run.returncode == -9
    Service.open(settings, clock=lambda: NOON).close()


def test_a_lock_is_released_once(tmp_path: Path) -> None:
    first = DirectoryLock.acquire(tmp_path)
    first.release()
    second = DirectoryLock.acquire(tmp_path)
    first.release()
    with pytest.raises(LockedError):
        DirectoryLock.acquire(tmp_path)
    second.release()


def test_a_missing_directory_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(DataDirectoryError, match="run `deniable init`"):
        Service.open(Settings(data=tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()


def test_an_unprepared_directory_gets_no_database(tmp_path: Path) -> None:
    with pytest.raises(DataDirectoryError, match="trust is missing"):
        Service.open(Settings(data=tmp_path))
    assert not (tmp_path / "deniable.db").exists()


def test_an_opening_that_fails_leaves_the_directory_free(tmp_path: Path) -> None:
    settings = service_world.prepared(tmp_path)
    key = settings.data / "keys" / "online.key"
    key.chmod(0o644)
    with pytest.raises(KeyFileError):
        Service.open(settings)
    key.chmod(0o600)
    Service.open(settings, clock=lambda: NOON).close()


def test_a_given_store_is_used_and_closed_with_the_service(tmp_path: Path) -> None:
    settings = service_world.prepared(tmp_path)
    store = SqliteStore(tmp_path / "own.db")
    service = Service.open(settings, clock=lambda: NOON, store=store)
    assert service.store is store
    service.close()
    with pytest.raises(StoreError, match="closed"):
        store.log_head()


def test_the_store_may_lie_elsewhere(tmp_path: Path) -> None:
    service_world.prepared(tmp_path)
    settings = Settings(data=tmp_path / "data", store=f"sqlite:///{tmp_path}/elsewhere.db")
    Service.open(settings, clock=lambda: NOON).close()
    assert (tmp_path / "elsewhere.db").exists()


def test_closing_writes_what_was_in_memory(tmp_path: Path) -> None:
    with service_world.opened(tmp_path) as bare_service:
        bare_service.upload(bare_service.report(payload=b"\xff"))
        settings = bare_service.running.settings
    service = Service.open(settings, clock=lambda: NOON)
    assert service.store.rejections(bare_service.manifest.collection) == {"invalid-message": 1}
    service.close()


def test_a_tick_writes_the_rejections_and_renews_the_key_list(bare_service: World) -> None:
    bare_service.upload(bare_service.report(payload=b"\xff"))
    bare_service.clock.now += 3_600
    bare_service.running.tick()
    assert bare_service.key_list().version == 2
    assert bare_service.running.store._rejections._waiting == {}  # type: ignore[attr-defined]  # only SQLite's store has it


def test_the_whole_way_survives_a_restart(tmp_path: Path) -> None:
    with service_world.opened(tmp_path) as bare_service:
        report = bare_service.report()
        bare_service.upload(report)
    with service_world.opened(tmp_path, bare_service.running.settings) as again:
        assert again.upload(report) == []
        assert again.n() == 1
