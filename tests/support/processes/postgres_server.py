"""One PostgreSQL server for the test session, and databases in it.

It starts when the first test asks and ends with the session. A database is a copy of a template
that was migrated once. fsync is off: what these tests kill are processes, never the machine.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg

from deniable_aggregator.store.postgres.store import PostgresStore
from support.processes.postgres_startup import wheel

__all__ = ["copy", "drop", "empty", "execute", "restartable", "server", "template"]

_numbers = count(1)


@cache
def server() -> Any:
    """The running server."""
    runtime = Path(tempfile.mkdtemp(prefix="deniable-run-"))
    runtime.chmod(0o700)
    atexit.register(shutil.rmtree, runtime, ignore_errors=True)
    with patch.dict(os.environ, XDG_RUNTIME_DIR=str(runtime)):
        made = wheel()
    folder = tempfile.mkdtemp(prefix="deniable-pg-")
    started = made.get_server(folder, cleanup_mode="delete")
    for setting in ("fsync = off", "full_page_writes = off"):
        _run(started.get_uri(), f"alter system set {setting}")
    _run(started.get_uri(), "select pg_reload_conf()")
    return started


@contextmanager
def restartable() -> Iterator[Any]:
    """A server of the caller's own, to `stop()` and to run again with `ensure_postgres_running()`.

    Its `get_uri()` is a database with nothing in it.
    """
    server()  # it knows where sockets may lie
    runtime, folder = (Path(tempfile.mkdtemp(prefix="deniable-own-")) for _ in range(2))
    runtime.chmod(0o700)
    with patch.dict(os.environ, XDG_RUNTIME_DIR=str(runtime)):
        own = wheel().get_server(folder, cleanup_mode="delete")
    try:
        yield own
    finally:
        own.ensure_postgres_running()
        own.cleanup()
        shutil.rmtree(runtime, ignore_errors=True)


def empty(name: str = "") -> str:
    """The address of a new, empty database."""
    return _create(name or f"t{next(_numbers)}", "template0")


def copy(template: str) -> str:
    """The address of a new database that is a copy of another, which must not be open anywhere."""
    return _create(f"t{next(_numbers)}", template)


def template(name: str, fill: Any) -> str:
    """Make a database and let `fill(store)` write into it; returns its name."""
    store = PostgresStore(empty(name))
    fill(store)
    store.close()
    return name


def drop(address: str) -> None:
    """All that still have it open."""
    name = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
    _run(server().get_uri(), f"drop database if exists {name} with (force)")


def execute(address: str, statement: str) -> list[tuple[object, ...]]:
    """Run a statement outside the store; the rows it gives."""
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def _create(name: str, template: str) -> str:
    _run(server().get_uri(), f"create database {name} template {template} strategy file_copy")
    return str(server().get_uri(name))


def _run(address: str, statement: str) -> None:
    execute(address, statement)
