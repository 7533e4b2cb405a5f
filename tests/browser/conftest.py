"""A server and a browser for all tests of pages.

The server and the browser are started once a process. The browser is closed before a test of
another folder runs: while it is open, its library's event loop counts as running in this thread,
and such tests start one of their own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.processes import dashboard_site
from support.processes.chromium import CHROMIUM, MISSING, Tabs, Window, chromium, opened
from support.processes.dashboard_site import Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser


HERE = Path(__file__).parent
_open = ExitStack()


@cache
def _browser() -> Browser:
    return _open.enter_context(chromium())


@cache
def _tabs() -> Tabs:
    return Tabs(_browser())


@pytest.hookimpl(trylast=True)  # after the fixtures of the last test
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    if nextitem is None or HERE not in nextitem.path.parents:
        _open.close()
        _browser.cache_clear()
        _tabs.cache_clear()


@pytest.fixture(scope="module")
def chrome() -> Browser:
    if CHROMIUM is None:
        pytest.skip(MISSING)
    return _browser()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Its data are made once a run, and each process serves a copy."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with dashboard_site.served(shared / "site", tmp_path_factory.mktemp("site")) as served:
        yield served


@pytest.fixture(scope="module")
def tabs(chrome: Browser) -> Tabs:
    """Tabs that earlier tests have used, of any site."""
    return _tabs()


@pytest.fixture
def window(chrome: Browser, site: Site, tabs: Tabs) -> Iterator[Callable[..., Window]]:
    """Opens windows: `window(width=390, known=False)`."""
    with ExitStack() as windows:

        def open_one(*, scripts: bool = True, **how: Any) -> Window:
            if scripts:
                return windows.enter_context(tabs.opened(site, **how))
            return windows.enter_context(opened(chrome, site, scripts=False, **how))

        yield open_one
