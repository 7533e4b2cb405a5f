"""The state file: private, tidy, never reset, and never an exception in the app's face."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

from deniable_client import Ceiling, Client, ConfigurationError, Outcome, StorageError
from deniable_client._state import keychain, schema
from support.builders.client_world import OTHER, SETTINGS, URL, Device, MakeDevice, manifest


def modes(directory: Path) -> set[int]:
    return {stat.S_IMODE(file.stat().st_mode) for file in directory.glob("state.db*")}


@pytest.fixture
def open_umask() -> object:
    """A careless process."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_every_file_is_readable_by_its_owner_alone(device: Device, tmp_path: Path) -> None:
    device.granted().record("settings", SETTINGS)
    assert len(list(tmp_path.glob("state.db*"))) == 3
    assert modes(tmp_path) == {0o600}


@pytest.mark.usefixtures("open_umask")
def test_a_new_file_is_private_from_its_first_moment(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "chmod", lambda *arguments: pytest.fail("it was open for a moment"))
    device.granted()
    assert modes(tmp_path) == {0o600}


def test_a_file_left_open_to_others_is_closed_to_them(device: Device, tmp_path: Path) -> None:
    device.granted().close()
    Path(device.path).chmod(0o644)
    device.open()
    assert modes(tmp_path) == {0o600}


def test_a_missing_directory_is_made_private(make_device: MakeDevice, tmp_path: Path) -> None:
    path = tmp_path / "new" / "deeper" / "state.db"
    make_device(path=path).granted()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_home_directory_may_be_written_as_a_tilde(
    make_device: MakeDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    make_device(path="~/app.db").granted()
    assert (tmp_path / "app.db").is_file()


@pytest.mark.parametrize("given", ["", "bad\0name"])
def test_what_is_no_path_is_refused(make_device: MakeDevice, given: str) -> None:
    device = make_device()
    device.path = given
    with pytest.raises(ConfigurationError, match="state must"):
        device.open()


def test_a_directory_is_refused_with_the_cure(make_device: MakeDevice, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="add a file name"):
        make_device(path=tmp_path).open()


def test_a_link_is_not_followed(make_device: MakeDevice, tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(ConfigurationError, match="plain file"):
        make_device(path=tmp_path / "link").open()


def test_another_program_s_database_is_refused_and_left_alone(
    make_device: MakeDevice, tmp_path: Path
) -> None:
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(ConfigurationError, match="another program's"):
        make_device(path=path).open()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]


def test_a_file_of_a_later_version_stays_untouched(device: Device) -> None:
    device.granted().close()
    with closing(sqlite3.connect(device.path)) as db:
        db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    client = device.open()
    assert client.record("settings", SETTINGS) is Outcome.DISABLED
    assert "up to date" in str(client.flush().problems[0])


def test_a_broken_file_disables_the_client_and_is_not_replaced(device: Device) -> None:
    Path(device.path).write_bytes(b"not a database" * 1000)
    client = device.open()
    assert client.record("settings", SETTINGS) is Outcome.DISABLED
    with pytest.raises(StorageError):
        client.budget()
    assert any(isinstance(each, StorageError) for each in client.flush(early=True).problems)
    client.close()
    assert Path(device.path).read_bytes() == b"not a database" * 1000


def test_a_directory_that_cannot_be_written_is_not_the_app_s_problem(
    make_device: MakeDevice, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    client = make_device(path=tmp_path / "file" / "state.db").open()
    assert client.record("settings", SETTINGS) in (Outcome.STORAGE_BUSY, Outcome.DISABLED)
    assert client.flush(early=True).sent == 0


def test_a_disk_that_comes_back_is_used_again(make_device: MakeDevice, tmp_path: Path) -> None:
    blocked = tmp_path / "mount"
    blocked.write_bytes(b"")
    device = make_device(path=blocked / "state.db")
    client = device.open()
    assert client.record("settings", SETTINGS) is Outcome.STORAGE_BUSY
    blocked.unlink()
    client.consent("granted")
    assert client.record("settings", SETTINGS) is Outcome.QUEUED


def test_a_state_in_memory_works_and_leaves_no_file(
    make_device: MakeDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    device = make_device(path=":memory:")
    client = device.granted()
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    assert client.record("settings", OTHER) is Outcome.ALREADY_ANSWERED
    assert client.flush(early=True).accepted == 1
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_in_wal_mode_and_carries_its_version(device: Device) -> None:
    device.granted().close()
    with closing(sqlite3.connect(device.path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA user_version").fetchone() == (schema.VERSION,)


def key_of(device: Device) -> bytes:
    with closing(sqlite3.connect(device.path)) as db:
        return bytes(db.execute("SELECT key FROM course").fetchone()[0])


def everything(device: Device) -> bytes:
    files = [Path(f"{device.path}{suffix}") for suffix in ("", "-wal", "-shm")]
    return b"".join(file.read_bytes() for file in files if file.exists())


@pytest.mark.parametrize("tidy", ["close", "upload_due"])
def test_no_byte_of_a_used_key_is_left(device: Device, tidy: str) -> None:
    client = device.granted()
    before = key_of(device)
    assert before in everything(device)
    client.record("settings", SETTINGS)
    getattr(client, tidy)()
    assert before not in everything(device)
    assert keychain.step(before) in everything(device)


def test_no_byte_of_a_wiped_key_or_payload_is_left(device: Device) -> None:
    client = device.granted()
    client.record("settings", SETTINGS)
    used = key_of(device)
    client.consent("denied")
    assert used not in everything(device)


@pytest.mark.slow
def test_a_reader_that_keeps_the_log_busy_only_postpones_the_tidying(device: Device) -> None:
    client = device.granted()
    before = key_of(device)
    with closing(sqlite3.connect(device.path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM course").fetchall()
        client.record("settings", SETTINGS)
        client.upload_due()
        assert before in everything(device)
    client.upload_due()
    assert before not in everything(device)


def test_a_manifest_that_is_wrong_is_the_developer_s_even_without_a_disk(
    make_device: MakeDevice, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    device = make_device(path=tmp_path / "file" / "state.db")
    with pytest.raises(ConfigurationError, match="manifest given as bytes"):
        Client(
            URL,
            trust=device.aggregator.operator.trust,
            manifests=[device.aggregator.operator.sign(manifest())[:-9]],
            state=device.path,
            ceiling=Ceiling(2, 4, 8),
            strict=True,
        )


def test_a_connection_that_broke_inside_is_replaced_by_a_new_one(device: Device) -> None:
    client = device.granted()
    with (
        pytest.raises(StorageError, match="the state file is damaged"),
        client._state.transaction() as db,
    ):
        db.close()
    assert client.record("settings", SETTINGS) is Outcome.QUEUED


class LockedLog:
    """A connection to a file whose log another program copies just now."""

    def __init__(self, inner: sqlite3.Connection) -> None:
        self._inner = inner

    def execute(self, statement: str, *arguments: object) -> object:
        if "wal_checkpoint" in statement:
            raise sqlite3.OperationalError("database table is locked")
        return self._inner.execute(statement, *arguments)  # type: ignore[arg-type]  # as sqlite3 takes them

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


@pytest.mark.slow
def test_a_log_that_cannot_be_copied_only_postpones_the_tidying(device: Device) -> None:
    client = device.granted()
    client._state._db = LockedLog(client._state._db)  # type: ignore[arg-type, assignment]  # a double of the connection
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
    assert client.flush(early=True).accepted == 1


def test_a_program_without_asyncio_records_the_same(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = device.granted()
    monkeypatch.delitem(sys.modules, "asyncio.events", raising=False)
    assert client.record("settings", SETTINGS) is Outcome.QUEUED


def test_the_file_of_another_user_is_left_alone(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    device.granted().close()
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    client = device.open()
    assert client.record("settings", SETTINGS) is Outcome.DISABLED
    assert "belongs to another user" in str(client.flush().problems[0])


def test_a_system_without_users_opens_the_file(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "getuid")
    assert device.granted().record("settings", SETTINGS) is Outcome.QUEUED


def test_a_row_that_contradicts_another_is_not_written(device: Device) -> None:
    client = device.granted()
    with (
        pytest.raises(StorageError, match="the state file cannot be used: UNIQUE"),
        client._state.transaction() as db,
    ):
        db.execute("INSERT INTO manifest SELECT * FROM manifest")
    assert client.record("settings", SETTINGS) is Outcome.QUEUED
