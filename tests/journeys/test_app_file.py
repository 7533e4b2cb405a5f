"""From `deniable collections export --app` to an app that records, with no line between."""

from __future__ import annotations

from pathlib import Path

import pytest

from deniable_client import Ceiling, Client, Outcome
from deniable_shared.manifest.app_file import AppFile
from deniable_shared.wire import dsse
from support.processes.deniable_command import SETTINGS_TOML, Deniable

CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=8)


@pytest.fixture
def deniable(tmp_path: Path) -> Deniable:
    command = Deniable(tmp_path)
    command.done("init", "--public-url", "https://telemetry.example.org")
    return command


def register(deniable: Deniable, *names: str) -> None:
    for name in names:
        file = deniable.folder / f"{name}.toml"
        file.write_text(SETTINGS_TOML.replace('"settings"', f'"{name}"'))
        deniable.done("collections", "apply", file)


def exported(deniable: Deniable, *more: str) -> Path:
    file = deniable.folder / "app.deniable"
    file.write_text(deniable.done("collections", "export", "--app", *more))
    return file


def answers(file: Path, *names: str) -> list[Outcome]:
    value = {"dark_mode": True, "beta": False}
    with Client.from_file(
        file, app="myapp", ceiling=CEILING, state=":memory:", environ={}, background=False
    ) as client:
        client.consent("granted")
        return [client.record(name, value) for name in names]


def test_an_app_answers_what_is_registered(deniable: Deniable) -> None:
    register(deniable, "settings", "other")
    assert answers(exported(deniable), "settings", "other") == [Outcome.QUEUED] * 2


def test_it_holds_the_collections_that_are_named(deniable: Deniable) -> None:
    register(deniable, "settings", "other")
    file = exported(deniable, "other")
    assert answers(file, "settings", "other") == [Outcome.UNKNOWN_COLLECTION, Outcome.QUEUED]
    assert AppFile.decode(file.read_bytes()).url == ("https://telemetry.example.org",)


def test_a_closed_collection_is_left_out(deniable: Deniable) -> None:
    register(deniable, "settings", "other")
    deniable.done("collections", "close", "other", "--yes")
    assert len(AppFile.decode(exported(deniable).read_bytes()).manifests) == 1


def test_what_cannot_be_meant_is_refused_with_the_cure(deniable: Deniable) -> None:
    assert "apply FILE" in deniable.refused("collections", "export", "--app")
    register(deniable, "settings", "other")
    both = deniable("collections", "export", "settings", "other")
    assert "--app to export several" in both.output
    version = deniable("collections", "export", "--app", "--version", "1")
    assert "leave out --version" in version.output
    afar = deniable.refused("collections", "export", "--app", "--url", "https://t.example.org")
    assert "give --trust KEY" in afar


def test_a_manifest_that_the_operator_did_not_sign_is_not_exported(deniable: Deniable) -> None:
    register(deniable, "settings")
    other = dsse.public_key(dsse.generate_key())
    refused = deniable.refused("collections", "export", "--app", "--trust", other)
    assert "no trusted key signed this" in refused


def test_the_bindings_are_made_from_it_too(deniable: Deniable) -> None:
    register(deniable, "settings")
    text = deniable.done("collections", "codegen", exported(deniable))
    assert "def record_settings(" in text
