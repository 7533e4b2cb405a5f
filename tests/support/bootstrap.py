"""Installs the group `test` before the first test tool is imported.

`uv run` installs only the service and pytest. In this checkout's environment pytest then runs `uv
sync` once and starts again. In any other environment it says what to install. If a single wheel is
tested, there is no service of this checkout, and nothing happens.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement

__all__ = ["missing", "pytest_plugin_registered"]

ROOT = Path(__file__).parents[2]
SYNC = ("sync", "--quiet", "--inexact", "--group", "test")


def pytest_plugin_registered(plugin: object, manager: pytest.PytestPluginManager) -> None:
    """End this process with the status of the second start, if the tools were missing.

    Raises UsageError if they are still missing.
    """
    if not isinstance(plugin, pytest.Config) or "PYTEST_XDIST_WORKER" in os.environ:
        return
    if not _tests_this_checkout() or not missing():
        return
    manager.getplugin("capturemanager").suspend_global_capture(in_=True)
    _install()
    again = [sys.executable, "-m", "pytest", *plugin.invocation_params.args]
    raise SystemExit(subprocess.call(again))


def missing() -> list[str]:
    """Return the packages of the group `test` that this environment lacks."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    wanted = [Requirement(line) for line in groups["test"] if isinstance(line, str)]
    return sorted({name for requirement in wanted for name in _lacking(requirement)})


def _lacking(requirement: Requirement) -> Iterator[str]:
    try:
        installed = metadata.distribution(requirement.name)
    except metadata.PackageNotFoundError:
        yield requirement.name
        return
    if not requirement.specifier.contains(installed.version, prereleases=True):
        yield requirement.name
    parts = [Requirement(line) for line in installed.requires or ()]
    for part in parts:
        if part.marker and any(part.marker.evaluate({"extra": of}) for of in requirement.extras):
            yield from _lacking(part)


def _tests_this_checkout() -> bool:
    service = find_spec("deniable_aggregator")
    return service is not None and Path(service.origin or "").is_relative_to(ROOT)


def _install() -> None:
    uv = os.environ.get("UV") or shutil.which("uv")
    own = (ROOT / os.environ.get("UV_PROJECT_ENVIRONMENT", ".venv")).resolve()
    if uv is not None and Path(sys.prefix).resolve() == own:
        print("Installing the test tools, once: uv", *SYNC, flush=True)
        outside = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
        subprocess.run([uv, *SYNC], cwd=ROOT, env=outside)
        importlib.invalidate_caches()
    if lacking := missing():
        raise pytest.UsageError(
            f"the test tools are incomplete: {', '.join(lacking)} missing. Install them here with "
            f"`uv {' '.join(SYNC)}` or, without uv, with `pip install --group test`"
        )
