"""One command brings the test tools, all of them, and no test is skipped for want of a library."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import pytest

from support import bootstrap

ROOT = bootstrap.ROOT
MAY_LOOK = {
    "bootstrap.py": "looks for what is missing",
    "cluster.py": "Spark: a tier of its own, 456 MB and Java",
    "http_libraries.py": "the client's wheel alone has httpx, but not httpx2",
    "peers.py": "benchmarks have an environment of their own",
    "test_apps.py": "the client's wheel alone has no Flask and no FastAPI",
    "test_django_app.py": "the client's wheel alone has no Django",
    "test_first_run.py": "this module",
    "test_numbers_document.py": "the client's wheel alone has no estimators",
    "test_spark_places.py": "Spark",
    "test_telemetry_commands.py": "the client's wheel alone has no click",
}
"""The modules of tests that may look whether a library is there, and why."""


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """An environment of this checkout without tools; the programs that it starts."""
    started: list[tuple[str, ...]] = []
    for name in ("PYTEST_XDIST_WORKER", "UV_PROJECT_ENVIRONMENT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("UV", "/bin/uv")
    monkeypatch.setattr(sys, "prefix", str(ROOT / ".venv"))
    monkeypatch.setattr(bootstrap, "missing", lambda: [] if started else ["hypothesis"])

    def run(arguments: list[str], **_: object) -> int:
        started.append(tuple(arguments))
        return 5

    monkeypatch.setattr(bootstrap, "subprocess", SimpleNamespace(run=run, call=run))
    return started


class Manager:
    """pytest's own, of which `bootstrap` takes the captured output."""

    def getplugin(self, name: str) -> Any:
        assert name == "capturemanager"
        return SimpleNamespace(suspend_global_capture=lambda in_: None)


def start(config: pytest.Config, manager: object = None) -> None:
    bootstrap.pytest_plugin_registered(config, manager or Manager())  # type: ignore[arg-type]  # a double of the manager


@pytest.mark.slow
def test_the_group_is_complete() -> None:
    assert bootstrap.missing() == []


@pytest.mark.slow
def test_no_test_looks_whether_a_library_is_there() -> None:
    looks = re.compile(r"importorskip\(|find_spec\(|except (ImportError|ModuleNotFoundError)")
    looking = {
        path.name
        for path in (ROOT / "tests").rglob("*.py")
        if ".venv" not in path.parts and looks.search(path.read_text())
    }
    assert looking <= MAY_LOOK.keys()


def test_tools_are_installed_and_pytest_starts_again(
    bare: list[tuple[str, ...]], pytestconfig: pytest.Config, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        start(pytestconfig)
    assert ended.value.code == 5
    sync, again = bare
    assert sync == ("/bin/uv", "sync", "--quiet", "--inexact", "--group", "test")
    assert again == (sys.executable, "-m", "pytest", *pytestconfig.invocation_params.args)
    assert capfd.readouterr().out.count("\n") == 1


def test_tools_that_cannot_be_had_end_the_run(
    bare: list[tuple[str, ...]], pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "missing", lambda: ["hypothesis", "moto"])
    with pytest.raises(pytest.UsageError, match=r"hypothesis, moto missing.*--group test"):
        start(pytestconfig)
    assert len(bare) == 1


def test_another_environment_is_left_alone(
    bare: list[tuple[str, ...]], pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", "/home/ada/.venv")
    with pytest.raises(pytest.UsageError, match="pip install --group test"):
        start(pytestconfig)
    assert bare == []


def test_without_uv_it_says_what_to_install(
    bare: list[tuple[str, ...]], pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UV")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.UsageError, match="without uv, with `pip install --group test`"):
        start(pytestconfig)
    assert bare == []


def test_a_worker_installs_nothing(
    bare: list[tuple[str, ...]], pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    start(pytestconfig)
    assert bare == []


def test_a_wheel_is_tested_with_what_is_there(
    bare: list[tuple[str, ...]], pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = SimpleNamespace(origin="/venv/lib/deniable_aggregator/__init__.py")
    for found in (None, elsewhere):
        monkeypatch.setattr(bootstrap, "find_spec", lambda name, found=found: found)
        start(pytestconfig)
    assert bare == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hypothesis", "psycopg-binary", "pyarrow"])
def test_what_is_not_installed_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the group itself, of an extra, and of an extra's extra."""
    real = metadata.distribution

    def without(wanted: str) -> metadata.Distribution:
        if wanted == name:
            raise metadata.PackageNotFoundError(wanted)
        return real(wanted)

    monkeypatch.setattr(metadata, "distribution", without)
    assert bootstrap.missing() == [name]


@pytest.mark.slow
def test_a_version_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.distribution
    old = SimpleNamespace(version="1.0", requires=[])
    monkeypatch.setattr(
        metadata, "distribution", lambda name: old if name == "hypothesis" else real(name)
    )
    assert bootstrap.missing() == ["hypothesis"]


@pytest.mark.slow
def test_nothing_is_downloaded_only_to_learn_what_it_requires() -> None:
    """Of a distribution without wheels uv downloads the source, even if it is never installed."""
    lock = ROOT / "uv.lock"
    if not lock.exists():
        pytest.skip("this environment was not made by uv: there is no uv.lock")
    read = tomllib.loads(lock.read_text())["package"]
    sources = {
        each["name"] for each in read if "registry" in each["source"] and not each.get("wheels")
    }
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]
    assert sources <= {each["name"] for each in settings["dependency-metadata"]}
