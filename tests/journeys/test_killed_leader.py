"""kill -9 of the worker that keeps house: another one does within seconds, and nothing is lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from deniable_aggregator.store.postgres.pool import Lock
from support.processes import postgres_server
from support.processes.deniable_command import wait_until
from support.processes.live_service import Live, live
from support.processes.process_tree import family

pytestmark = pytest.mark.processes

WORKERS = 2
LED_AT = "deniable_housekeeping_led_timestamp_seconds"
_LEADER = """
select pid from pg_locks where locktype = 'advisory' and granted and objid = %s
and database = (select oid from pg_database where datname = current_database())"""


@pytest.fixture
def live_service(tmp_path: Path) -> Iterator[Live]:
    address = postgres_server.empty()
    with live(tmp_path, store=address, workers=WORKERS) as started:
        yield started
    postgres_server.drop(address)


def leading(live: Live) -> int | None:
    """The leader, by the connection that holds its lock; None while there is no leader."""
    with psycopg.connect(live.settings.store) as connection:
        found = connection.execute(_LEADER, (int(Lock.LEADER),)).fetchall()
    return int(found[0][0]) if found else None


def led_at(live: Live) -> float:
    """When a round of housekeeping last ended, by the service's own word."""
    headers = {"Authorization": f"Bearer {live.server.token}"}
    answer = httpx.get(f"{live.server.address}/metrics", headers=headers, trust_env=False)
    text = answer.raise_for_status().text
    families = text_string_to_metric_families(text)
    return max(each.value for some in families for each in some.samples if each.name == LED_AT)


def workers(live: Live) -> list[int]:
    """Processes that serve: children of the one that was started, and alive."""
    return [pid for pid in family(live.server.pid)[1:] if is_alive(pid)]


def is_alive(pid: int) -> bool:
    """A killed process stays in the table until its parent looks."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def kill_the_leader(live: Live) -> float:
    """Kill workers until it was the one that led; the moment before.

    Its lock goes with it, at once. Where a machine is slow, the next one is killed for nothing.
    """
    before = leading(live)
    *first, last = workers(live)
    for worker in first:
        moment = time.time()
        os.kill(worker, signal.SIGKILL)
        with suppress(AssertionError):
            wait_until("it led", lambda: leading(live) != before, seconds=1)
            return moment
    moment = time.time()
    os.kill(last, signal.SIGKILL)
    wait_until("the last one led", lambda: leading(live) != before)
    return moment


@pytest.mark.exhaustive
def test_when_the_leader_is_killed_another_leads_within_seconds(live_service: Live) -> None:
    wait_until("somebody leads", lambda: leading(live_service) is not None)
    wait_until("a round has ended", lambda: led_at(live_service) > 0)
    moment = kill_the_leader(live_service)
    wait_until("another one leads", lambda: leading(live_service) is not None)
    wait_until("it has kept house", lambda: led_at(live_service) > moment)
    wait_until("as many serve as before", lambda: len(workers(live_service)) == WORKERS)
