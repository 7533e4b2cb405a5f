"""A fixture for the tests of an app: `pytest_plugins = ["deniable_client.pytest_plugin"]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deniable_client.testing import ClientForTests, client

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["telemetry"]


@pytest.fixture
def telemetry() -> Iterator[ClientForTests]:
    """A client of a person who agreed, in memory, without a network."""
    with client() as made:
        yield made
