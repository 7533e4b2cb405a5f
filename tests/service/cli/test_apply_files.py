"""`deniable collections apply` of several files: all are checked before one is registered."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.processes.deniable_command import SETTINGS_TOML, Deniable

OTHER_TOML = SETTINGS_TOML.replace('"settings"', '"theme"')


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.done("init")
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
    assert "two files are of the collection 'settings'" in deniable.refused(
        "collections", "apply", *files
    )
    assert registered(deniable) == []
