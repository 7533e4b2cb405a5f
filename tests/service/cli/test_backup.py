"""The commands that carry an installation elsewhere, as an operator calls them.

`test_serve.py` has the backup of a running service.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.processes import postgres_server
from support.processes.deniable_command import Deniable

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Deniable:
    """A directory with one collection."""
    command = Deniable(tmp_path_factory.mktemp("applied"))
    command.prepare()
    command.done("collections", "apply", command.write("settings.toml"), "--key", command.key)
    return command


@pytest.fixture
def deniable(applied: Deniable, tmp_path: Path) -> Deniable:
    return applied.copy(tmp_path)


def names(deniable: Deniable) -> list[str]:
    return [row["collection"] for row in deniable.json("collections", "list")["collections"]]


def test_a_restored_directory_without_heads_says_that_uploads_wait(
    deniable: Deniable, tmp_path: Path
) -> None:
    deniable.done("store", "backup", tmp_path / "b.zip")
    deniable.environ["DENIABLE_DATA"] = str(tmp_path / "elsewhere" / "data")
    said = deniable.done("store", "restore", tmp_path / "b.zip")
    assert "Put the keys into" in said
    assert "Uploads and releases wait for `deniable ledger reconcile`" in said
    shutil.copytree(deniable.data / "keys", tmp_path / "elsewhere" / "data" / "keys")
    done = deniable.json("ledger", "reconcile")
    assert done["exhausted"] == names(deniable)
    assert "reconcile" not in deniable.done("ledger")


def test_a_directory_that_is_in_use_is_not_restored_into(
    deniable: Deniable, tmp_path: Path
) -> None:
    deniable.done("store", "backup", tmp_path / "b.zip")
    assert "must be empty" in deniable.refused("store", "restore", tmp_path / "b.zip")
    assert "exists already" in deniable.refused("store", "backup", tmp_path / "b.zip")


@pytest.mark.parametrize(
    ("place", "missing"),
    [("backups", "backups"), ("backups/", "backups"), ("backups/b.zip", "backups")],
)
def test_a_disk_that_is_not_mounted_gets_no_backup(
    deniable: Deniable, tmp_path: Path, place: str, missing: str
) -> None:
    said = deniable.refused("store", "backup", f"{tmp_path}/{place}")
    assert f"there is no directory {tmp_path / missing}: create it, or mount its disk" in said
    assert not (tmp_path / missing).exists()


@pytest.mark.processes
def test_a_store_moves_to_postgresql_and_the_service_finds_everything(
    deniable: Deniable,
) -> None:
    before, address = names(deniable), postgres_server.empty()
    command = f"deniable store backup - | deniable store restore --database '{address}'"
    done = deniable.shell(command)
    assert done.returncode == 0, done.stderr
    assert "read every one back" in done.stdout
    assert "rows to standard output, without keys" in done.stderr
    assert "To use it, set store in" in done.stderr
    (deniable.data / "deniable.db").unlink()
    deniable.environ["DENIABLE_STORE"] = address
    assert names(deniable) == before != []
    assert "already" in deniable.done("store", "migrate")
    assert "Nothing is missing" in deniable.done("ledger", "reconcile")
    postgres_server.drop(address)


@pytest.mark.exhaustive
@pytest.mark.processes
def test_a_pipe_that_breaks_says_so_and_restores_nothing(
    deniable: Deniable, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    into = f"deniable store restore --database sqlite:///{copy}"
    for source in ("deniable store backup - | head -c 3000", "true"):
        done = deniable.shell(f"{source} | {into}")
        assert done.returncode == 1
        assert "standard input is no backup, or was cut off" in done.stderr
        assert "Traceback" not in done.stderr
    refused = deniable.shell("deniable store backup - | deniable store restore")
    assert refused.returncode == 1
    assert "must be empty" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not list(tmp_path.glob("copy.db*"))


def test_a_backup_says_what_it_cannot_do(deniable: Deniable) -> None:
    said = deniable("store", "backup", "-", "--json")
    assert said.exit_code == 2
    assert "--json needs a file" in said.stderr


def test_migrate_says_what_it_did(deniable: Deniable) -> None:
    done = deniable.json("store", "migrate")
    assert done["before"] == done["after"]
    (deniable.data / "deniable.db").unlink()
    assert "had no schema" in deniable.done("store", "migrate")


@pytest.mark.slow
def test_ledger_alone_shows(deniable: Deniable) -> None:
    [collection] = names(deniable)
    assert deniable.done("ledger", collection) == deniable.done("ledger", "show", collection)
    assert deniable.done("ledger") == deniable.done("ledger", "show")
