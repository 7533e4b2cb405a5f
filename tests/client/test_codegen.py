"""`python -m deniable_client.codegen`: typed bindings where only the client is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from deniable_client import codegen
from deniable_shared.manifest.app_file import AppFile
from support.builders.client_world import URL, Operator, manifest


def app_file(operator: Operator, *names: str) -> bytes:
    envelopes = tuple(operator.sign(manifest(name)) for name in names)
    return AppFile((URL,), (operator.trust,), envelopes).encode()


@pytest.fixture
def shipped(operator: Operator, tmp_path: Path) -> Path:
    file = tmp_path / "app.deniable"
    file.write_bytes(app_file(operator, "settings", "theme"))
    return file


@pytest.mark.slow
def test_it_prints_a_module_of_all_that_the_app_ships(shipped: Path) -> None:
    command = [sys.executable, "-m", "deniable_client.codegen", str(shipped)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "state=…" in text
    names: dict[str, object] = {}
    exec(compile(text, "questions.py", "exec"), names)  # noqa: S102  (our own)
    assert {"MANIFESTS", "record_settings", "record_theme"} <= names.keys()


def test_it_takes_single_manifests(
    operator: Operator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "settings.manifest"
    file.write_bytes(operator.sign(manifest()) + b"\n")
    codegen.main([str(file), "--trust", operator.trust])
    assert "def record_settings(" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: b"{}", "payload"),
        (lambda data: data.replace(b"deniable-app/1", b"deniable-app/2"), "a later version"),
        (lambda data: data.replace(b'"url"', b'"urls"'), "url of an app file"),
    ],
)
def test_what_is_no_app_file_is_refused_by_name(
    shipped: Path, capsys: pytest.CaptureFixture[str], change: object, reason: str
) -> None:
    assert callable(change)
    shipped.write_bytes(change(shipped.read_bytes()))
    with pytest.raises(SystemExit, match="1"):
        codegen.main([str(shipped)])
    said = capsys.readouterr().err
    assert "app.deniable" in said
    assert reason in said


def test_an_app_file_that_another_key_signed_is_refused(
    operator: Operator, shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        codegen.main([str(shipped), "--trust", Operator().trust])
    assert "no trusted key" in capsys.readouterr().err


def test_a_file_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="1"):
        codegen.main(["nowhere.deniable"])
    assert capsys.readouterr().err.count("\n") == 1


def test_a_collection_given_twice_is_one_line(
    shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        codegen.main([str(shipped), str(shipped)])
    assert "must be given once" in capsys.readouterr().err
