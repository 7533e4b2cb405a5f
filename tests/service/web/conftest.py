"""A service for tests that only read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.builders import api_world


@pytest.fixture(scope="module")
def unchanged_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[api_world.World]:
    """One for all tests of a file that change nothing in it: they read, or are refused."""
    with api_world.opened(tmp_path_factory.mktemp("unchanged")) as opened:
        yield opened
