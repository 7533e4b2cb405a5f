"""The gateway imports nothing heavy; these tests also run where its wheel alone is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from deniable_gateway.cli import main
from deniable_gateway.errors import QueueError
from deniable_gateway.relay.queue import NAME, ReportQueue

HEAVY = {"click", "deniable_aggregator", "flask", "httpx", "msgspec", "numpy", "scipy", "structlog"}
IMPORT_ALL = """
import importlib, pkgutil, sys
import deniable_gateway
for module in pkgutil.walk_packages(deniable_gateway.__path__, "deniable_gateway."):
    if module.name not in ("deniable_gateway.__main__", "deniable_gateway.spool.postgres"):
        importlib.import_module(module.name)
print(*{name.partition(".")[0] for name in sys.modules})
"""


@pytest.mark.slow
def test_no_module_imports_anything_heavy() -> None:
    code = [sys.executable, "-c", IMPORT_ALL]
    answer = subprocess.run(code, capture_output=True, text=True, check=True)
    assert "deniable_gateway" in answer.stdout
    assert HEAVY & set(answer.stdout.split()) == set()


def test_status_counts_what_became_of_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--data", str(tmp_path)]) == 1
    assert "there is no relay's file" in capsys.readouterr().err
    ReportQueue(tmp_path / NAME).close()
    assert main(["status", "--data", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {}


def test_a_queue_that_is_no_database_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"no database" * 100)
    with pytest.raises(QueueError, match="the relay's file cannot be used"):
        ReportQueue(tmp_path / NAME)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["relay", "--to", "ftp://x", "--token-file", "t", "--batch", "2"], "to must be http"),
        (["relay", "--to", "http://x", "--token-file", "t", "--batch", "1"], "batch must be"),
        (["intake", "--spool", "nowhere"], "there is no directory"),
        (["intake", "--spool", ".", "--wait-ms", "-1"], "wait_ms must be"),
    ],
)
def test_a_wrong_option_is_said_in_one_sentence(
    given: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(given) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("Error: ")
    assert reason in said.err
