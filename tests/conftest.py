"""Tiers of tests, by marker; tests/README.md says which runs when.

Hypothesis judges no test by the time it takes: what is slow on a busy machine is not wrong.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import tiers
from support.bootstrap import pytest_plugin_registered
from support.doubles import quick_tls

__all__ = [
    "pytest_collection",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_ignore_collect",
    "pytest_plugin_registered",
    "pytest_xdist_auto_num_workers",
]


OPT_OUTS = (
    *("DO_NOT_TRACK", "CI", "CONTINUOUS_INTEGRATION", "APPVEYOR", "BITBUCKET_BUILD_NUMBER"),
    *("BUILDKITE", "CIRCLECI", "CIRRUS_CI", "CODEBUILD_BUILD_ID", "DRONE", "GITHUB_ACTIONS"),
    *("GITLAB_CI", "HUDSON_URL", "JENKINS_URL", "SEMAPHORE", "TEAMCITY_VERSION", "TF_BUILD"),
    "TRAVIS",
)
"""On a build server every client is silent: tests would test silence."""

MEMORY = Path("/dev/shm")  # noqa: S108  (pytest makes a folder of the user's own in it)
ROOM = 2 * 1024**3
"""Bytes: four times what a run keeps at once."""


def pytest_configure(config: pytest.Config) -> None:
    """Before any test module is imported: how many examples a property test draws."""
    cache: pytest.Cache | None = getattr(config, "cache", None)
    if sys.dont_write_bytecode and cache is not None:
        keep_bytecode(cache.mkdir("bytecode"))
    from hypothesis import HealthCheck, settings  # `bootstrap` has brought it by now

    for name in OPT_OUTS:
        os.environ.pop(name, None)

    keep_files_in_memory()
    quick_tls.install()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's job in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # or no child hears a Ctrl-C
    tiers.asked.update(tiers.named(config.getoption("markexpr")))
    settings.register_profile(
        "tier",
        max_examples=100 if tiers.thorough() else 10,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("tier")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Two more than there are processors: tests wait for processes. Fast ones do not."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    processors = os.cpu_count() or 1
    return processors if config.getoption("markexpr") == "fast" else processors + 2


def keep_files_in_memory() -> None:
    """Temporary files, if they fit and TMPDIR names no place: each commit would wait for the disk.

    The tests kill processes, never the machine.
    """
    if "TMPDIR" in os.environ or not os.access(MEMORY, os.W_OK):
        return
    runs_programs = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    if runs_programs and shutil.disk_usage(MEMORY).free >= ROOM:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def keep_bytecode(folder: Path) -> None:
    """If Python may write none, each process would compile all that it imports."""
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The fast tier does not even import what it leaves out."""
    fast = config.getoption("markexpr") == "fast"
    return True if fast and tiers.is_slow_folder(collection_path) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is collected stays until the end: searches for garbage pass it by, and are few."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort every test into its tier; leave out what `-m` has to name."""
    for item in items:
        tiers.mark(item)
    left_out = [item for item in items if tiers.is_left_out(item)]
    if left_out:
        dropped = set(map(id, left_out))
        items[:] = [item for item in items if id(item) not in dropped]
        config.hook.pytest_deselected(items=left_out)
