"""The wheel of the gateway in an environment of its own: few packages, and a relay that works."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes.deniable_command import wait_until
from support.processes.installed_programs import program
from support.processes.servers_and_devices import LongWay, kill

ROOT = Path(__file__).parents[2]
BATCH = 3
PACKAGES = {
    "cffi",
    "click",
    "cryptography",
    "deniable-gateway",
    "deniable-shared",
    "granian",
    "pycparser",
}
HEAVY = ("deniable_aggregator", "flask", "httpx", "msgspec", "numpy", "scipy", "structlog")
IMPORT_ALL = """
import importlib, pkgutil, sys
import deniable_gateway
for module in pkgutil.walk_packages(deniable_gateway.__path__, "deniable_gateway."):
    if module.name not in ("deniable_gateway.__main__", "deniable_gateway.spool.postgres"):
        importlib.import_module(module.name)
print(sorted({name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names))
"""


def run(*command: str | Path) -> str:
    """What it prints; the test fails with its reason if it fails."""
    answer = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the gateway's wheel and what it requires."""
    uv, folder = program("uv", "pip install uv"), tmp_path_factory.mktemp("gateway")
    for name in ("deniable-gateway", "deniable-shared"):
        run(uv, "build", "--quiet", "--wheel", "--package", name, "--out-dir", folder)
    run(uv, "venv", "--quiet", folder / "venv")
    into = ("--python", folder / "venv", "--find-links", folder)
    run(uv, "pip", "install", "--quiet", *into, "deniable-gateway==0.1.0")
    return folder / "venv" / "bin" / "python"


@pytest.fixture
def way(tmp_path: Path) -> Iterator[LongWay]:
    way = LongWay(tmp_path)
    yield way
    for process in way.processes:
        kill(process)


@pytest.mark.exhaustive
@pytest.mark.processes
def test_seven_packages_are_installed_and_none_is_heavy(python: Path) -> None:
    uv = program("uv", "pip install uv")
    listed = json.loads(run(uv, "pip", "list", "--quiet", "--format", "json", "--python", python))
    assert {each["name"] for each in listed} - {"typing-extensions"} == PACKAGES
    assert not [name for name in HEAVY if name in run(python, "-c", IMPORT_ALL)]


@pytest.mark.exhaustive
@pytest.mark.processes
def test_what_is_missing_is_named(python: Path, tmp_path: Path) -> None:
    for place, extra in (("s3://bucket/folder", "arrow"), ("postgresql://db/x", "postgres")):
        intake = (python, "-m", "deniable_gateway", "intake", "--spool", place)
        answer = subprocess.run(intake, capture_output=True, text=True, cwd=tmp_path)
        assert (answer.returncode, answer.stdout) == (1, "")
        assert f'pip install "deniable-gateway[{extra}]"' in answer.stderr


@pytest.mark.long
@pytest.mark.processes
def test_a_relay_passes_reports_of_real_devices_to_a_real_service(
    python: Path, way: LongWay
) -> None:
    token = way.deniable.json("access", "tokens", "new", "--role", "relay", "--label", "a relay")
    (way.folder / "relay.token").write_text(str(token["token"]))
    way.start(way.url, "serve")
    to = ("--to", way.url, "--token-file", "relay.token", "--batch", str(BATCH))
    way.start(way.front, "relay", *to, python=python, module="deniable_gateway")
    assert [way.answer(device) for device in range(BATCH)] == [1] * BATCH
    wait_until("the batch is counted", lambda: way.counted() == BATCH, seconds=180)
    status = (python, "-m", "deniable_gateway", "status", "--json", "--data", way.folder / "relay")
    assert json.loads(run(*status)) == {"accepted": BATCH, "forwarded": BATCH}


@pytest.mark.exhaustive
@pytest.mark.processes
def test_an_intake_writes_reports_of_real_devices_into_a_spool(python: Path, way: LongWay) -> None:
    spool = way.folder / "spool"
    spool.mkdir()
    opening = ("spool", "drain", "--spool", spool, "--once")
    assert way.deniable.done(*opening) == "Drained 0 reports\n"
    intake = ("intake", "--spool", "spool", "--data", "nowhere")
    way.start(way.front, *intake, python=python, module="deniable_gateway")
    assert [way.answer(device) for device in range(BATCH)] == [1] * BATCH
    assert way.deniable.done(*opening) == f"Drained {BATCH} reports\n"
    assert way.counted() == BATCH
