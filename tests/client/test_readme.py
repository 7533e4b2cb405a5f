"""The README is true: its example runs, its table is complete."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from deniable_client import Outcome
from deniable_shared.manifest.app_file import AppFile
from support.builders.client_world import Operator, manifest

README = Path(__file__).parent.parent.parent / "client" / "README.md"


def test_the_first_example_runs_as_printed(
    operator: Operator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    today = datetime.now(UTC).date()
    valid = manifest(valid_from=str(today), expires=str(today + timedelta(days=90)))
    envelopes = (operator.sign(valid),)
    file = AppFile(("https://telemetry.example.org",), (operator.trust,), envelopes)
    (tmp_path / "app.deniable").write_bytes(file.encode())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (example, *_) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    promised = re.findall(r"print\(.*\)  # (.*)", example)
    exec(example, {})  # noqa: S102  (our own README)
    assert capsys.readouterr().out.split() == promised


def test_every_outcome_is_explained() -> None:
    text = README.read_text()
    assert [each for each in Outcome if f"`{each}`" not in text] == []
