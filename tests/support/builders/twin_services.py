"""Two services that are copies down to keys and tokens, and then differ.

What two of them say can be compared byte for byte: all differences come from the reports.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.collections.registry import Collection
from deniable_aggregator.keys import read_seed
from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases import kinds
from deniable_aggregator.releases.kinds.contract import (
    PreparedRelease,
    ReleaseContext,
    Tallies,
    TallyPart,
)
from deniable_aggregator.store.rows import AcceptedReport, TallyKey
from deniable_shared.randomness.coins import Coins
from support.builders import api_world
from support.builders.api_world import Moment, World
from support.builders.release_world import ReleaseWorld, stream
from support.doubles.browser import Browser
from support.oracles.read_surfaces import ROLES

__all__ = ["Reports", "add", "equally_drawn", "equally_tossed", "twins"]

COOKIE = "deniable-session"


@dataclass(frozen=True)
class Reports:
    """The tally of the reports of one cohort of an epoch; `n` of them, by default its sum."""

    epoch: int
    counts: Sequence[int]
    cohort: int = 0
    n: int | None = None


def add(world: World, collection: Collection, reports: Reports) -> None:
    """Count them under ids that are the same in every twin."""
    cell = TallyKey(collection.id, reports.epoch, collection.manifest.version, reports.cohort)
    tally = np.array(reports.counts, dtype=np.int64)
    n = sum(reports.counts) if reports.n is None else reports.n
    name = b"%d %d " % (reports.epoch, reports.cohort)
    ids = [hashlib.sha256(name + b"%d" % place).digest()[:16] for place in range(n)]
    arrivals = [AcceptedReport(cell, id, b"\0") for id in ids]
    world.running.store.commit(arrivals, lambda _, rows: tally)


@contextmanager
def twins(
    folder: Path,
    prepare: Callable[[World], Collection],
    different: Sequence[Sequence[Reports]],
    planner: Callable[[str, Mapping[str, object], ReleaseContext], PreparedRelease],
) -> Iterator[list[ReleaseWorld]]:
    """A twin for each of the different reports, one after the other closed at the end."""
    with api_world.opened(folder / "first") as world:
        collection = prepare(world).id
        cookies = {role: _cookie(world, role) for role in ROLES}
    services: list[Service] = []
    try:
        yield [
            _twin(folder, str(place), world, cookies, collection, reports, planner, services)
            for place, reports in enumerate(different)
        ]
    finally:
        for service in services:
            service.close()


def _cookie(world: World, role: str) -> str:
    world.page("/", role)
    actual = world.people[role].cookie()
    assert actual is not None
    return actual


def _twin(
    folder: Path,
    name: str,
    first: World,
    cookies: Mapping[str, str],
    collection: str,
    reports: Sequence[Reports],
    planner: Callable[[str, Mapping[str, object], ReleaseContext], PreparedRelease],
    services: list[Service],
) -> ReleaseWorld:
    shutil.copytree(folder / "first", folder / name)
    clock = Moment(first.clock.now)
    service = Service.open(Settings(data=folder / name / "data"), clock=clock)
    services.append(service)
    world = World(service, clock, read_seed(folder / name / "operator.key"), first.tokens)
    for role, cookie in cookies.items():
        world.people[role] = Browser.at(world.app)
        world.people[role].client.set_cookie(COOKIE, cookie)
    actual = service.registry.get(collection)
    for each in reports:
        add(world, actual, each)
    service.tick()
    return ReleaseWorld(world, actual, planner, stream())


def equally_tossed(
    mechanism: str, arguments: Mapping[str, object], context: ReleaseContext
) -> PreparedRelease:
    """A plan that draws with the same coins each time."""
    return _Replaced(kinds.prepare(mechanism, arguments, context), _same)  # type: ignore[return-value]  # a double of a prepared release


def equally_drawn(
    mechanism: str, arguments: Mapping[str, object], context: ReleaseContext
) -> PreparedRelease:
    """A plan that draws with the same coins and as if every part said all labels equally often."""
    return _Replaced(kinds.prepare(mechanism, arguments, context), _even)  # type: ignore[return-value]  # a double of a prepared release


def _same(tallies: Tallies) -> Tallies:
    return tallies


def _even(tallies: Tallies) -> Tallies:
    return Tallies(tuple(map(_evened, tallies.parts)))


def _evened(part: TallyPart) -> TallyPart:
    counts = np.full(len(part.counts), part.n // len(part.counts), dtype=np.int64)
    counts[0] += part.n - counts.sum()
    return TallyPart(part.epoch, part.cohort, part.n, counts)


@dataclass(frozen=True)
class _Replaced:
    """A plan in everything but its coins and the tallies that it reads."""

    prepared: PreparedRelease
    seen: Callable[[Tallies], Tallies]

    def __getattr__(self, name: str) -> object:
        actual = getattr(self.prepared, name)
        return partial(self._drawn, actual) if name in ("draw", "open", "resume") else actual

    def _drawn(self, method: Callable[..., object], tallies: Tallies, *more: object) -> object:
        return method(self.seen(tallies), *more, coins=Coins.derive(b"twins"))
