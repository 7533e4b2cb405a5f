"""A server and a browser for all tests of pages.

The server is started once a process; the browser once a module, for while it is open its library's
event loop counts as running in this thread, and tests of other modules start one of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from support.processes import dashboard_site
from support.processes.chromium import CHROMIUM, MISSING, Window, chromium, opened
from support.processes.dashboard_site import Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip(MISSING)
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with dashboard_site.served(tmp_path_factory.mktemp("site")) as served:
        yield served


@pytest.fixture
def window(chrome: Browser, site: Site) -> Iterator[Callable[..., Window]]:
    """Opens windows: `window(width=390, known=False)`."""
    with ExitStack() as windows:

        def open_one(**how: object) -> Window:
            return windows.enter_context(opened(chrome, site, **how))  # type: ignore[arg-type]  # one dict has values of many types

        yield open_one
