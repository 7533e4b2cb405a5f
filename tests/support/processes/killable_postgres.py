"""A PostgreSQL server that a test may kill and start again.

fsync is off: what is killed are its processes, and the machine stays.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import psycopg

from support.processes.postgres_startup import PATIENCE_SECONDS, wheel
from support.processes.process_tree import family

__all__ = ["MortalPostgres", "mortal_postgres"]


class MortalPostgres:
    """`address` always stays the same."""

    def __init__(self, started: Any) -> None:
        self._started = started
        with psycopg.connect(started.get_uri(), autocommit=True) as connection:
            connection.execute("alter system set fsync = off")
            connection.execute("alter system set max_connections = 200")
            connection.execute("create database storm")
        self.address = str(started.get_uri("storm"))
        self.kill()
        self.start()

    def kill(self) -> None:
        """kill -9 of the server and of everything it started, at one stroke."""
        for pid in family(int(self._started.get_pid())):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def start(self) -> None:
        """Recover from what is on disk; again while the dead still hold their memory."""
        end = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self._started.ensure_postgres_running()
                psycopg.connect(self.address).close()
            except (subprocess.SubprocessError, psycopg.OperationalError, AssertionError):
                assert time.monotonic() < end, "PostgreSQL did not start again"
            else:
                return


@contextmanager
def mortal_postgres() -> Iterator[MortalPostgres]:
    """Skips the test where the wheel has no binaries for this machine."""
    with TemporaryDirectory(prefix="deniable-mortal-") as folder:
        runtime = Path(folder) / "run"
        runtime.mkdir(mode=0o700)
        with patch.dict(os.environ, XDG_RUNTIME_DIR=str(runtime)):
            postgres = wheel()
        made = postgres.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield MortalPostgres(made)
        finally:
            made.cleanup()
