"""Private keys in a backup: sealed by a passphrase, and restored byte for byte."""

from __future__ import annotations

import errno
from collections.abc import Callable
from io import BytesIO
from itertools import count
from pathlib import Path

import pytest

from deniable_aggregator.base.errors import KeyFileError
from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.backup import copying, sealed_keys
from deniable_aggregator.operations.service import Service
from deniable_gateway.errors import DataDirectoryError
from support.builders.data_directory import NOON, Moment, prepared

PASSPHRASE = "correct horse battery"


def restored(target: Settings, path: Path | BytesIO, **more: bool) -> copying.RestoreResult:
    return copying.restore(
        target,
        path,
        passphrase=lambda: PASSPHRASE,
        nothing_released_since=more.get("nothing_released_since", True),
    )


@pytest.mark.slow
def test_a_restored_directory_with_keys_serves_at_once(tmp_path: Path) -> None:
    old = prepared(tmp_path / "old")
    path = copying.back_up(old, tmp_path, PASSPHRASE, NOON)
    target = Settings(data=tmp_path / "new" / "data")
    assert restored(target, path).has_keys
    names = {path.name for path in (old.data / "keys").iterdir()}
    for name in names:
        made = target.data / "keys" / name
        assert made.read_bytes() == (old.data / "keys" / name).read_bytes()
        assert made.stat().st_mode == (old.data / "keys" / name).stat().st_mode
    service = Service.open(target, clock=Moment())
    service.tick()
    service.close()


@pytest.mark.slow
def test_a_restore_that_is_interrupted_among_the_keys_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_keys, "_N", 1 << 10)
    old = prepared(tmp_path / "old")
    path = copying.back_up(old, tmp_path, PASSPHRASE, NOON)
    target = Settings(data=tmp_path / "new" / "data")
    with monkeypatch.context() as full:
        full.setattr("os.fsync", disk_that_fills_up(after=2))
        with pytest.raises(OSError, match="No space left"):
            restored(target, path)
    assert not list(target.data.glob("keys*"))
    assert restored(target, path).has_keys
    files = {each.name: each.read_bytes() for each in (old.data / "keys").iterdir()}
    assert {each.name: each.read_bytes() for each in (target.data / "keys").iterdir()} == files
    assert len(files) > 3
    assert not (target.data / sealed_keys.DRAFT).exists()


def test_keys_may_lie_on_another_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed_keys, "_N", 1 << 10)
    old = prepared(tmp_path / "old").data / "keys"
    sealed = sealed_keys.seal_keys(old, PASSPHRASE)
    disk, link = tmp_path / "disk", tmp_path / "keys"
    disk.mkdir()
    link.symlink_to(disk)
    names = sealed_keys.restore_keys(link, sealed, PASSPHRASE)
    assert sorted(each.name for each in disk.iterdir()) == names
    assert {each.name for each in tmp_path.iterdir()} == {"old", "disk", "keys"}


def disk_that_fills_up(*, after: int) -> Callable[[int], None]:
    """An fsync that fails, once, after so many calls."""
    calls = count()

    def fsync(descriptor: int) -> None:
        if next(calls) == after:
            raise OSError(errno.ENOSPC, "No space left on device")

    return fsync


@pytest.mark.slow
def test_keys_need_their_passphrase_and_a_long_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_keys, "_N", 1 << 10)  # the test above pays for the real one
    folder = prepared(tmp_path / "old").data / "keys"
    with pytest.raises(KeyFileError, match="at least 12 characters"):
        sealed_keys.seal_keys(folder, "short")
    sealed = sealed_keys.seal_keys(folder, PASSPHRASE)
    with pytest.raises(KeyFileError, match="passphrase"):
        sealed_keys.restore_keys(tmp_path / "keys", sealed, PASSPHRASE + "!")
    with pytest.raises(DataDirectoryError, match="never overwritten"):
        sealed_keys.restore_keys(folder, sealed, PASSPHRASE)
    assert not (tmp_path / "keys").exists()
