"""A server with fourteen closed days, for tests of what reads it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.collections.authoring.toml_manifest import manifest_from_toml
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.keys import initialise, read_seed
from deniable_aggregator.operations.process.serving import free_port, running
from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases.request import EpochSelection, ReleaseRequest
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_estimators.simulation import simulated_tally
from deniable_shared.manifest.model import MANIFEST_TYPE
from deniable_shared.randomness.coins import Coins
from deniable_shared.wire import dsse

__all__ = ["DAYS", "Published", "filled", "published", "registered"]

DAY = 86_400
DAYS = 14
PEOPLE = 600
COMMON = """\
owner = "privacy@example.org"
epsilon = "2"
min_batch = 100
valid_from = 2026-01-01
expires = 2099-01-01
"""
THEME = f"""\
name = "theme"
purpose = "Which theme do people use?"
{COMMON}
central = {{ per_epoch = "1", per_installation = "1", delta = "0.00001" }}
[domain]
type = "choice"
labels = ["light", "dark", "auto", "high contrast"]
"""
MINUTES = f"""\
name = "minutes"
purpose = "How many minutes a day do people read?"
mechanism = "tree/1"
{COMMON}
[domain]
type = "number"
low = 0
high = 60
step = 5
"""


@dataclass(frozen=True)
class Published:
    """Where it answers, and a viewer's token."""

    url: str
    token: str
    settings: Settings


def themes(day: int) -> list[str]:
    """Dark wins people from light, day by day; no person needs high contrast."""
    dark = 0.3 + 0.025 * day
    shares = {"light": 0.55 - 0.02 * day, "dark": dark}
    people = [label for label, share in shares.items() for _ in range(round(share * PEOPLE))]
    return people + ["auto"] * (PEOPLE - len(people))


def minutes(day: int) -> list[int]:
    return [5 * ((person * person + day) % 9) for person in range(PEOPLE)]


def registered(service: Service, operator: Path, toml: str) -> Collection:
    manifest = manifest_from_toml(toml, ingest=[service.settings.public_url])
    signed = dsse.sign(manifest.body, payload_type=MANIFEST_TYPE, seed=read_seed(operator))
    service.registry.apply(signed, audit=None)
    return service.registry.get(manifest.collection)


def counted(service: Service, found: Collection, epoch: int, values: Sequence[object]) -> None:
    """One report of each value. The tally is drawn at once: a device would take longer."""
    cell = TallyKey(found.id, epoch, found.manifest.version)
    people = Counter(values)
    encoded = np.array([found.manifest.domain.encode(value) for value in people])
    tally = simulated_tally(found.mechanism, encoded, list(people.values()))
    ids = Coins.system().bytes(16 * len(values))
    arrivals = [
        AcceptedReport(cell, ids[start : start + 16], b"\0") for start in range(0, len(ids), 16)
    ]
    service.store.commit(arrivals, lambda _, rows: tally)  # the tally is known already


def filled(service: Service, operator: Path) -> None:
    """Both collections, closed, shown in the views, one release, some rejections."""
    last = int(time.time()) // DAY - 1
    theme, read = (registered(service, operator, toml) for toml in (THEME, MINUTES))
    for day in range(DAYS):
        epoch = last - DAYS + 1 + day
        counted(service, theme, epoch, themes(day))
        counted(service, read, epoch, minutes(day))
        for actual in (theme, read):
            service.close_epoch(actual, epoch, audit=None)
    service.store.count_rejections(theme.id, {"cannot-open": 3})
    wanted = ReleaseRequest("histogram", {"epsilon": "0.25"}, EpochSelection(listed=(last,)))
    service.releases.release(theme, wanted, audit=None)
    service.tick()


@contextmanager
def published(folder: Path, store: str = "") -> Iterator[Published]:
    """Started over a new data directory and stopped at the end."""
    settings = Settings(data=folder / "data", port=free_port(), store=store)
    operator = folder / "operator.key"
    initialise(settings, operator_key=operator, now=time.time())
    service = Service.open(settings)
    try:
        filled(service, operator)
        _, token = service.tokens.create("viewer", "reader", audit=None)
    finally:
        service.close()
    with (folder / "server.log").open("wb") as log, running(settings, log=log) as server:
        yield Published(server.address, token, settings)
