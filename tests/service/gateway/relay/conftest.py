"""A relay before a real service with one collection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.collections.registry import Collection
from support.builders import api_world, relay_world
from support.builders.relay_world import RelayWorld


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[RelayWorld]:
    with relay_world.opened(tmp_path) as opened:
        yield opened


@pytest.fixture
def collection(relay: RelayWorld) -> Collection:
    found = relay.aggregator.register(api_world.authored())
    relay.renew()
    return found
