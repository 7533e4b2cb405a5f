"""The commands that carry an installation elsewhere, as an operator calls them.

`test_serve.py` has the backup of a running service.
"""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest
from click.testing import Result

from deniable_aggregator.base.settings import Settings
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
    assert f"Saved the address in {deniable.data / 'deniable.toml'}" in done.stderr
    assert (
        f"into the PostgreSQL database {address.partition('?')[0].rpartition('/')[2]}"
        in done.stdout
    )
    (deniable.data / "deniable.db").unlink()
    assert names(deniable) == before != []
    assert "already" in deniable.done("store", "migrate")
    assert "Nothing is missing" in deniable.done("ledger", "reconcile")
    postgres_server.drop(address)


def moved(deniable: Deniable, place: Path) -> Result:
    """What the copy into the SQLite file `place` says."""
    backup = deniable.folder / f"before-{place.name}.zip"
    deniable.done("store", "backup", backup)
    result = deniable("store", "restore", backup, "--database", f"sqlite:///{place}")
    assert result.exit_code == 0, result.output
    return result


def test_a_directory_uses_the_store_that_it_moved_to(deniable: Deniable, tmp_path: Path) -> None:
    there, settings_file = tmp_path / "there.db", deniable.data / "deniable.toml"
    public_url = Settings.load({"DENIABLE_DATA": str(deniable.data)}).public_url
    said = moved(deniable, there)
    assert f"into the SQLite file {there}, and read every one back" in said.stdout
    assert f"Saved the address in {settings_file}" in said.stderr
    assert stat.S_IMODE(settings_file.stat().st_mode) == 0o600
    settings = Settings.load({"DENIABLE_DATA": str(deniable.data)})
    assert (settings.database, settings.public_url) == (there, public_url)
    old = deniable.data / "deniable.db"
    old.unlink()
    assert len(names(deniable)) == 1
    moved(deniable, old)
    assert Settings.load({"DENIABLE_DATA": str(deniable.data)}).store == ""


def test_a_move_says_that_a_variable_wins_over_the_saved_store(
    deniable: Deniable, tmp_path: Path
) -> None:
    assert "If an environment file sets DENIABLE_STORE" in moved(deniable, tmp_path / "a.db").stderr
    deniable.environ["DENIABLE_STORE"] = f"sqlite:///{tmp_path / 'a.db'}"
    said = moved(deniable, tmp_path / "b.db").stderr
    assert "DENIABLE_STORE names another store here and wins" in said


def test_a_relative_address_is_saved_for_commands_anywhere(
    deniable: Deniable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    moved(deniable, Path("copy.db"))
    assert Settings.load({"DENIABLE_DATA": str(deniable.data)}).database == tmp_path / "copy.db"


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
