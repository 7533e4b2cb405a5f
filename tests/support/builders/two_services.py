"""Two services over one data directory and one PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deniable_aggregator.keys import read_seed
from deniable_aggregator.operations.service import Service
from support.builders.data_directory import Moment, prepared_on_postgres
from support.builders.service_world import World, authored
from support.processes import postgres_server

__all__ = ["pair"]


@contextmanager
def pair(folder: Path) -> Iterator[tuple[World, World]]:
    """Two worlds of one clock; the first has registered the collection."""
    settings, clock = prepared_on_postgres(folder), Moment()
    seed = read_seed(folder / "operator.key")
    services = [Service.open(settings, clock=clock) for _ in range(2)]
    try:
        first, second = (World(service, clock, seed, authored()) for service in services)
        first.running.registry.apply(first.signed(first.manifest), audit=None)
        yield first, second
    finally:
        for service in services:
            service.close()
        postgres_server.drop(settings.store)
