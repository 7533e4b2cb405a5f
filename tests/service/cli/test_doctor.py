"""`deniable doctor`."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.store.opening import open_store
from support.processes.deniable_command import NOWHERE, SETTINGS_TOML, Deniable

THEME_TOML = SETTINGS_TOML.replace('"settings"', '"theme"')

SHOWN = (
    *("python", "versions", "sqlite", "settings", "data", "keys", "delegation", "key age"),
    *("schema", "proxy", "disk", "clock", "key list"),
)


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.prepare()
    return command


def found(deniable: Deniable, what: str, level: str) -> list[str]:
    import json

    document = json.loads(deniable("doctor", "--json").stdout)
    return [
        check["message"]
        for check in document["checks"]
        if (check["what"], check["level"]) == (what, level)
    ]


def test_a_fresh_installation_is_well(deniable: Deniable) -> None:
    deniable.environ["DENIABLE_PUBLIC_URL"] = NOWHERE
    answer = deniable("doctor")
    assert answer.exit_code == 0
    assert "fail" not in answer.stdout
    for what in SHOWN:
        assert f"  {what} " in answer.stdout


@pytest.mark.slow
def test_a_spool_that_nobody_counts_is_told_of_until_it_is_given_up(deniable: Deniable) -> None:
    spool = deniable.folder / "spool"
    spool.mkdir()
    deniable.done("spool", "drain", "--spool", spool, "--once")
    assert found(deniable, "spool", "ok") == [f"{spool} is counted"]
    store = open_store(Settings(data=deniable.data))
    store.remove_spool(str(spool))
    store.set_spool_progress(str(spool), 0)
    store.close()
    assert "--last" in found(deniable, "spool", "warn")[0]
    deniable.done("spool", "drain", "--spool", spool, "--last")
    assert found(deniable, "spool", "warn") == found(deniable, "spool", "ok") == []


def test_a_directory_nobody_prepared_fails_with_the_cure(tmp_path: Path) -> None:
    answer = Deniable(tmp_path)("doctor")
    assert answer.exit_code == 1
    assert "deniable init --data" in answer.stdout


@pytest.mark.parametrize("name", [".", "keys/online.key", "keys/report-1.key"])
def test_what_others_can_read_fails_with_the_command_that_closes_it(
    deniable: Deniable, name: str
) -> None:
    path = deniable.data / name
    path.chmod(path.stat().st_mode | 0o044)
    answer = deniable("doctor")
    assert answer.exit_code == 1
    assert "chmod go-rwx" in answer.stdout


def test_the_operators_key_inside_the_directory_is_warned_of(deniable: Deniable) -> None:
    deniable.key.rename(deniable.data / "operator.key")
    (message,) = found(deniable, "operator key", "warn")
    assert "move it away" in message


def test_a_clock_behind_the_files_fails(deniable: Deniable) -> None:
    tomorrow = time.time() + 86_400
    os.utime(deniable.data / "trust", (tomorrow, tomorrow))
    assert found(deniable, "clock", "fail")


def test_a_misspelt_setting_fails(deniable: Deniable) -> None:
    (deniable.data / "deniable.toml").write_text("prot = 1\n")
    (message,) = found(deniable, "settings", "fail")
    assert "did you mean port" in message


@pytest.mark.slow
def test_a_collection_near_its_end_is_warned_of(deniable: Deniable) -> None:
    soon = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 3 * 86_400))
    path = deniable.write("s.toml", SETTINGS_TOML.replace("2099-01-01", soon))
    deniable.done("collections", "apply", path, "--key", deniable.key)
    (message,) = found(deniable, "collection", "warn")
    assert soon in message


def test_a_service_that_does_not_answer_fails(deniable: Deniable) -> None:
    answer = deniable("doctor", "--url", "http://127.0.0.1:9")
    assert answer.exit_code == 1
    assert "nothing answers at http://127.0.0.1:9" in answer.stdout


@pytest.mark.slow
def test_it_runs_the_checks_of_readyz_where_no_server_runs(deniable: Deniable) -> None:
    assert found(deniable, "ready", "ok") == ["database, keys, disk, clock"]
    path = deniable.data / "deniable.db"
    deniable.done("collections", "apply", deniable.write("s.toml"))
    kept = path.read_bytes()
    deniable.done("keys", "rotate", "--now", "--yes")
    deniable.done("collections", "apply", deniable.write("t.toml", THEME_TOML))
    path.write_bytes(kept)
    (message,) = found(deniable, "ready", "fail")
    assert "deniable ledger reconcile" in message
    deniable.done("ledger", "reconcile")
    assert found(deniable, "ready", "fail") == []
