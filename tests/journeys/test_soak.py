"""Steady load for minutes: nothing is lost, refused or counted twice, and memory stays.

SOAK_SECONDS=900 pytest -n0 -m long tests/journeys/test_soak.py                   # both databases
SOAK_SECONDS=180 pytest -n0 -m long tests/journeys/test_soak.py -k postgresql     # one of them
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deniable_aggregator.operations.loadgen.plan import LoadPlan
from deniable_aggregator.operations.loadgen.sealing import fetch_target, seal_bodies
from deniable_aggregator.operations.loadgen.sending import UploadTarget, send
from support.processes import postgres_server
from support.processes.live_service import Live, live
from support.processes.process_tree import family

pytestmark = [pytest.mark.processes, pytest.mark.long]

SECONDS = int(os.environ.get("SOAK_SECONDS", "900"))
SLICE_SECONDS = 10
PLAN = LoadPlan(rate=200, connections=16, reports=1, seconds=SLICE_SECONDS)
WARM_UP = 3
GROWTH = 1.25


@pytest.fixture(params=["sqlite", "postgresql"])
def live_service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Live]:
    if request.param == "sqlite":
        with live(tmp_path) as started:
            yield started
        return
    address = postgres_server.empty()
    with live(tmp_path, store=address, workers=2) as started:
        yield started
    postgres_server.drop(address)


def resident_mb(live: Live) -> float:
    """Of all processes of the service."""
    pages = [Path(f"/proc/{pid}/statm").read_text().split()[1] for pid in family(live.server.pid)]
    return sum(map(int, pages)) * os.sysconf("SC_PAGE_SIZE") / 1e6


def load(live: Live) -> int:
    """One slice; how many reports were acknowledged."""
    with live.connect() as connection:
        target = fetch_target(connection, "settings")
    made = seal_bodies(target, PLAN.requests, PLAN.reports, lambda done: None)
    outcome = send(UploadTarget(live.server.address, target.path), made, PLAN, lambda done: None)
    assert (set(outcome.statuses), outcome.failed, outcome.refused) == ({200}, 0, 0)
    return outcome.accepted


def test_under_steady_load_every_report_is_counted_and_memory_stays(live_service: Live) -> None:
    kept, sizes = 0, []
    for _ in range(max(WARM_UP + 1, SECONDS // SLICE_SECONDS)):
        kept += load(live_service)
        assert live_service.counted() == kept
        sizes.append(resident_mb(live_service))
    assert max(sizes[WARM_UP:]) <= GROWTH * sizes[WARM_UP - 1]
