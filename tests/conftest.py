"""Tiers of tests, by marker; tests/README.md says which runs when.

Hypothesis judges no test by the time it takes: what is slow on a busy machine is not wrong.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from support import tiers
from support.bootstrap import pytest_plugin_registered

__all__ = [
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_ignore_collect",
    "pytest_plugin_registered",
]


def pytest_configure(config: pytest.Config) -> None:
    """Before any test module is imported: how many examples a property test draws."""
    from hypothesis import HealthCheck, settings  # `bootstrap` has brought it by now

    cache: pytest.Cache | None = getattr(config, "cache", None)
    if sys.dont_write_bytecode and cache is not None:
        keep_bytecode(cache.mkdir("bytecode"))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's job in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # or no child hears a Ctrl-C
    tiers.asked.update(tiers.named(config.getoption("markexpr")))
    settings.register_profile(
        "tier",
        max_examples=100 if tiers.thorough() else 20,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("tier")


def keep_bytecode(folder: Path) -> None:
    """Where Python is told to write none, each process would compile all that it imports."""
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(folder)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The fast tier does not even import what it leaves out."""
    fast = config.getoption("markexpr") == "fast"
    return True if fast and tiers.is_slow_folder(collection_path) else None


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
