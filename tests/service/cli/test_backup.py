"""The commands that carry an installation elsewhere, as an operator calls them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from deniable_aggregator.operations.process import running_server
from support.processes import postgres_server
from support.processes.deniable_command import Deniable, wait_until

PASSPHRASE = "correct horse battery\n"


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.done("init")
    command.done("collections", "apply", command.write("settings.toml"), "--key", command.key)
    command.write("passphrase.txt", PASSPHRASE)
    return command


def names(deniable: Deniable) -> list[str]:
    return [row["collection"] for row in deniable.json("collections", "list")["collections"]]


@pytest.mark.slow
def test_a_backup_of_a_running_service_is_restored_elsewhere_and_serves(
    deniable: Deniable, tmp_path: Path
) -> None:
    passphrase = tmp_path / "passphrase.txt"
    with deniable.process("serve", "--port", "0"):
        wait_until("the service runs", lambda: running_server.find(deniable.data))
        made = deniable.json("backup", tmp_path, "--keys", "--passphrase-file", passphrase)
    before = names(deniable)
    deniable.environ["DENIABLE_DATA"] = str(tmp_path / "elsewhere" / "data")
    said = deniable.done(
        *("restore", made["file"], "--passphrase-file", passphrase, "--nothing-released-since")
    )
    assert "read every one back" in said
    assert "reconcile" not in said
    assert names(deniable) == before != []
    assert "Nothing is missing" in deniable.done("ledger", "reconcile")


def test_a_restored_directory_without_heads_says_that_releases_wait(
    deniable: Deniable, tmp_path: Path
) -> None:
    deniable.done("backup", tmp_path / "b.zip")
    deniable.environ["DENIABLE_DATA"] = str(tmp_path / "elsewhere" / "data")
    said = deniable.done("restore", tmp_path / "b.zip")
    assert "Put the keys into" in said
    assert "Releases wait for `deniable ledger reconcile`" in said
    shutil.copytree(deniable.data / "keys", tmp_path / "elsewhere" / "data" / "keys")
    done = deniable.json("ledger", "reconcile")
    assert done["exhausted"] == names(deniable)
    assert "reconcile" not in deniable.done("ledger")


def test_a_directory_that_is_in_use_is_not_restored_into(
    deniable: Deniable, tmp_path: Path
) -> None:
    deniable.done("backup", tmp_path / "b.zip")
    assert "must be empty" in deniable.refused("restore", tmp_path / "b.zip")
    assert "is there already" in deniable.refused("backup", tmp_path / "b.zip")


def test_a_store_moves_to_postgresql_and_the_service_finds_everything(
    deniable: Deniable,
) -> None:
    before, address = names(deniable), postgres_server.empty()
    assert "read every one back" in deniable.done("copy-store", "--to", address)
    (deniable.data / "deniable.db").unlink()
    deniable.environ["DENIABLE_STORE"] = address
    assert names(deniable) == before != []
    assert "already" in deniable.done("migrate")
    postgres_server.drop(address)


def test_migrate_says_what_it_did(deniable: Deniable) -> None:
    done = deniable.json("migrate")
    assert done["before"] == done["after"]
    (deniable.data / "deniable.db").unlink()
    assert "had no schema" in deniable.done("migrate")


@pytest.mark.slow
def test_ledger_alone_shows(deniable: Deniable) -> None:
    [collection] = names(deniable)
    assert deniable.done("ledger", collection) == deniable.done("ledger", "show", collection)
    assert deniable.done("ledger") == deniable.done("ledger", "show")
