"""kill -9 of a worker while the database is away: the others serve on, and another takes its place.

The service must not end: only its operator would start it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.processes.kill_storm import Storm
from support.processes.killable_postgres import mortal_postgres
from support.processes.process_tree import family

PATIENCE_SECONDS = 240.0
PAUSE_SECONDS = 0.05
WAITS = "the database is unavailable; this process starts when it is back"

pytestmark = pytest.mark.processes


def wait_until(met: Callable[[], bool], storm: Storm) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not met():
        storm.require_alive()
        assert time.monotonic() < end, storm.log.read_text()
        time.sleep(PAUSE_SECONDS)


@pytest.mark.exhaustive
def test_a_worker_that_dies_without_a_database_is_replaced_later(
    tmp_path: Path,
) -> None:
    with mortal_postgres() as database:
        storm = Storm(tmp_path, database, workers=2, devices=0)
        try:
            storm.start_server()
            assert storm.server is not None
            before = family(storm.server.pid)
            database.kill()
            storm.kill_a_worker()
            wait_until(lambda: WAITS in storm.log.read_text(), storm)
            database.start()
            storm.await_answer()
            after = family(storm.server.pid)
        finally:
            storm.kill_everything()
            storm.network.close()
        assert len(after) == len(before)
        assert len(set(after) - set(before)) == 1
        assert storm.counts() == {}
