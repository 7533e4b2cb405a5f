"""`deniable collections apply` of several files: all are checked before one is registered."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable_aggregator.operations.doctor import addresses
from support.processes.deniable_command import SETTINGS_TOML, Deniable

pytestmark = pytest.mark.slow

OTHER_TOML = SETTINGS_TOML.replace('"settings"', '"theme"')


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.prepare()
    return command


def registered(deniable: Deniable) -> list[str]:
    rows = deniable.json("collections", "list")["collections"]
    return [row["name"] for row in rows]


def test_several_files_are_registered_together(deniable: Deniable) -> None:
    files = deniable.write("settings.toml"), deniable.write("theme.toml", OTHER_TOML)
    answer = deniable.json("collections", "apply", *files)
    assert answer["created"]
    assert registered(deniable) == ["settings", "theme"]
    assert deniable.done("collections", "apply", *files).count("is registered already") == 2
    assert not deniable.json("collections", "apply", *files)["created"]


def test_one_wrong_file_keeps_all_out_and_is_named(deniable: Deniable) -> None:
    wrong = deniable.write("theme.toml", OTHER_TOML.replace("2099-01-01", "2020-01-01"))
    said = deniable.refused("collections", "apply", deniable.write("settings.toml"), wrong)
    assert said.startswith("theme.toml: ")
    assert registered(deniable) == []


def test_two_files_of_one_collection_are_refused(deniable: Deniable) -> None:
    files = deniable.write("a.toml"), deniable.write("b.toml")
    assert "two files define the collection 'settings'" in deniable.refused(
        "collections", "apply", *files
    )
    assert registered(deniable) == []


CLEAN_TOML = (
    SETTINGS_TOML.replace("privacy@example.org", "privacy@deniable.test").replace(
        'epsilon = "1"', 'epsilon = "2"'
    )
    + "\n"
)


def test_a_file_without_a_warning_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "findings", lambda ingest, client: [])  # as if it were reached
    deniable = Deniable(tmp_path)
    deniable.prepare("--public-url", "https://telemetry.deniable.test")
    files = [
        deniable.write(f"{name}.toml", CLEAN_TOML.replace('"settings"', f'"{name}"'))
        for name in ("settings", "theme")
    ]
    said = [line for line in deniable.done("collections", "apply", *files).splitlines() if line]
    assert [line.endswith("is registered") for line in said] == [True, True], said
    again = deniable.done("collections", "apply", *files).splitlines()
    assert [line.endswith("is registered already") for line in again] == [True, True]
    shown = deniable.done("collections", "apply", "--dry-run", *files)
    assert "note" in shown


def test_a_warning_is_shown_without_the_notes(deniable: Deniable) -> None:
    said = deniable.done("collections", "apply", deniable.write("settings.toml"))
    assert "  warning owner: privacy@example.org is an example" in said
    assert "  note" not in said
