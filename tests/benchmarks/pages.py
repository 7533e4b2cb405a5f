"""Pages of the dashboard: the server's time for each, and what a browser has to fetch."""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from flask.testing import FlaskClient

from benchmarks.measure import Contender, Effort, Line, race
from benchmarks.results import Case, Result, at_most, figure
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.web.app import create_app
from deniable_aggregator.web.dashboard import headlines
from deniable_estimators.simulation import simulated_tally
from deniable_shared.manifest.epochs import epoch_at
from support.processes.dashboard_site import Filler, filled

COLLECTIONS, VALUES, EPOCHS, NARROW = 200, 10_000, 365, 8
REPORTS = 400
DRAWN = 5
DAY = 86_400
FIRST_LOOK = "/?sort=name"
"""The overview again, whose answers are computed each time."""

BUDGET_MS, BUDGET_MB = 300.0, 1.0
BOUND = "reading and adding up 365 tallies, and the API's document of every label"


@dataclass(frozen=True)
class Visit:
    """One page: its name here, and its address."""

    name: str
    path: str


def run(effort: Effort) -> Result:
    """An overview of many collections, a page of many values, one of many epochs."""
    with TemporaryDirectory() as folder, filled(Path(folder)) as filler:
        wide = _filled(filler, "wide", _choice(effort.sized(VALUES, least=100)), EPOCHS)
        long = _filled(filler, "long", _choice(NARROW), EPOCHS)
        for number in range(effort.sized(COLLECTIONS, least=20) - 2):
            _filled(filler, f"other-{number}", _choice(3), 30)
        client = create_app(filler.service).test_client()
        session = filler.service.sessions.begin("benchmark", "viewer", None, via="link")
        client.set_cookie("deniable-session", str(session))
        visits = [
            Visit("overview", "/"),
            Visit("overview, answers not kept yet", FIRST_LOOK),
            Visit("many values", f"/collections/{wide.id}"),
            Visit("many values, projected", f"/collections/{wide.id}?show=projected"),
            Visit("many epochs", f"/collections/{long.id}"),
            Visit("many epochs, as a table", f"/collections/{long.id}?view=table"),
        ]
        times = race(
            [Contender(visit.name, "ours", _loader(client, visit.path)) for visit in visits],
            effort,
            unit="ms",
            per_second=1e3,
        )
        weights = [_weight(client, visit) for visit in visits]
    size = f"{COLLECTIONS} collections; {VALUES:,} values × {EPOCHS} epochs"
    return Result(
        title="Pages",
        cases=(
            Case(f"the server's time, {size}", times),
            Case("what a first visit fetches, compressed", tuple(weights)),
        ),
        verdicts=(
            *(at_most(f"page, {line.name}", BUDGET_MS, line, bound=BOUND) for line in times),
            *(at_most(f"fetched, {line.name}", BUDGET_MB, line, bound=WEIGHT) for line in weights),
        ),
        remarks=(
            "A page of a wide domain shows 25 answers, the rest by paging and search, and over "
            "time as many of the newest epochs as the API answers at once. Files that pages load "
            "are fetched once and then kept; ECharts is "
            f"{figure(_share_of_charts())} MB of what a page with charts weighs.",
        ),
    )


WEIGHT = "ECharts, which pages without charts do not load"


def _choice(size: int) -> Sequence[str]:
    return [f"value {number:05}" for number in range(size)]


def _filled(filler: Filler, name: str, labels: Sequence[str], epochs: int) -> Collection:
    found = filler.asked(name, f'type = "choice"\nlabels = {list(labels)}\n', epsilon="2")
    people = REPORTS // len(labels[:200])
    values = np.arange(len(labels[:200]))
    tallies = [
        simulated_tally(found.mechanism, values, np.full(len(values), people)) for _ in range(DRAWN)
    ]
    today = epoch_at(time.time(), DAY)
    for age in range(epochs):
        filler.add(found, today - age, people * len(values), tallies[age % DRAWN])
        if age:  # answers of closed epochs are kept, as in a service that has run for a while
            filler.service.store.close_epoch(found.id, today - age, time.time(), audit=None)
    return found


def _loader(client: FlaskClient, path: str) -> Callable[[], object]:
    def load() -> object:
        if path == FIRST_LOOK:
            headlines._KEPT.clear()
        response = client.get(path)
        assert response.status_code == 200, response.text
        return response.data

    return load


def _weight(client: FlaskClient, visit: Visit) -> Line:
    page = client.get(visit.path).text
    fetched = len(gzip.compress(page.encode()))
    for file in set(re.findall(r'(?:src|href)="(/static/[^"]+)"', page)):
        fetched += len(client.get(file, headers={"Accept-Encoding": "gzip"}).data)
    note = f"the page itself {len(page) / 1e3:.0f} kB before compression"
    return Line(visit.name, "ours", "MB", (fetched / 1e6,), note)


def _share_of_charts() -> float:
    from deniable_aggregator.web.dashboard.assets import STATIC

    return len(gzip.compress((STATIC / "vendor" / "echarts.js").read_bytes())) / 1e6
