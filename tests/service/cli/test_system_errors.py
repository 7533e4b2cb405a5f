"""Errors of the system end in what to do about them."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.doctor.audit_view import audit_check
from deniable_aggregator.operations.doctor.installation import schema_check
from deniable_gateway import directory_lock
from deniable_gateway.directory_lock import DirectoryLock
from deniable_gateway.errors import DataDirectoryError
from support.processes.deniable_command import Deniable


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.prepare()
    return command


def test_a_missing_folder_of_keys_is_to_be_put_back(deniable: Deniable) -> None:
    shutil.rmtree(deniable.data / "keys")
    said = deniable.refused("collections", "list")
    assert str(deniable.data / "keys") in said
    assert "put back your copy" in said


def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", no_locks)
        with pytest.raises(DataDirectoryError, match=r"No locks available.*local disk"):
            DirectoryLock.acquire(tmp_path)
    DirectoryLock.acquire(tmp_path).release()


def test_a_read_only_file_system_says_what_must_be_writable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class ReadOnly:
        O_RDWR, O_CREAT = os.O_RDWR, os.O_CREAT

        @staticmethod
        def open(path: Path, _flags: int, _mode: int) -> int:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    monkeypatch.setattr(directory_lock, "os", ReadOnly)
    with pytest.raises(DataDirectoryError, match=r"Read-only file system.*must be writable"):
        DirectoryLock.acquire(tmp_path)


@pytest.mark.parametrize("command", [("collections", "apply", "FILE"), ("keys", "delegate")])
def test_a_missing_operator_key_is_given_with_an_option(
    deniable: Deniable, command: tuple[str, ...]
) -> None:
    path = deniable.write("settings.toml")
    deniable.key.unlink()
    words = [str(path) if word == "FILE" else word for word in command]
    for given in ([], ["--key", str(deniable.folder / "elsewhere.key")]):
        said = deniable.refused(*words, *given)
        assert "give it with --key FILE" in said


def test_a_truncated_database_is_to_be_restored(deniable: Deniable) -> None:
    path = deniable.data / "deniable.db"
    deniable.done("collections", "list")
    os.truncate(path, path.stat().st_size // 2 - 100)
    said = deniable.refused("collections", "list")
    assert "deniable store restore" in said


def test_a_database_of_garbage_is_to_be_restored(deniable: Deniable) -> None:
    (deniable.data / "deniable.db").write_bytes(b"garbage" * 1_000)
    said = deniable.refused("collections", "list")
    assert "is damaged or is not a SQLite database" in said
    assert "deniable store restore" in said
    said = deniable.refused("store", "backup", deniable.folder / "b.zip")
    assert "put back a copy of the file" in said


def test_doctor_says_what_to_do_without_the_folder_of_keys(deniable: Deniable) -> None:
    shutil.rmtree(deniable.data / "keys")
    checks = deniable("doctor", "--json").stdout
    assert (
        "delegation.json cannot be read (No such file or directory): put back your copy" in checks
    )


def test_a_database_that_cannot_be_read_is_not_called_empty(
    deniable: Deniable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(path: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", unreadable)
    settings = Settings(data=deniable.data)
    check = schema_check(settings)
    assert check.level == "fail"
    assert "deniable.db cannot be read: unable to open database file" in check.message
    assert "must own the file" in check.message
    assert [each.level for each in audit_check(settings)] == ["fail"]


def test_a_second_directory_with_the_same_operator_key_says_so(tmp_path: Path) -> None:
    key = tmp_path / "operator.key"
    first, second = Deniable(tmp_path / "a"), Deniable(tmp_path / "b")
    assert "was there already" not in first.done("init", "--operator-key", key)
    assert f"{key} was there already" in second.done("init", "--operator-key", key)
