"""A service that dies during a release: `python release_spender.py FOLDER COLLECTION WHERE`.

Asks for one release and stops permanently at WHERE: "draw" (charged, nothing drawn), "keep" (drawn,
not kept) or "show" (kept, not shown). It prints one line when it is there, and waits to be
killed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deniable_aggregator.base.settings import Settings
from deniable_aggregator.operations.service import Service
from deniable_aggregator.releases.kinds.contract import (
    PreparedRelease,
    ReleaseContext,
    ReleaseResult,
    Tallies,
)
from deniable_aggregator.releases.service import ReleaseService
from deniable_aggregator.store.rows import ResultRow
from deniable_aggregator.store.sqlite.store import SqliteStore
from deniable_shared.randomness.coins import Coins
from deniable_shared.randomness.dyadic import parse_epsilon
from support.builders.data_directory import Moment
from support.builders.release_world import asked
from support.doubles.release_plans import Counts


def stand_still() -> None:
    print("here", flush=True)
    time.sleep(600)


@dataclass(frozen=True, slots=True)
class Slow(Counts):
    """The same law under the same name; it never comes to an end."""

    def draw(self, tallies: Tallies, coins: Coins | None = None) -> ReleaseResult:
        stand_still()
        raise AssertionError("somebody woke it")


def slow(
    mechanism: str, arguments: Mapping[str, object], context: ReleaseContext
) -> PreparedRelease:
    return Slow(context, parse_epsilon(str(arguments["epsilon"])))


def quick(
    mechanism: str, arguments: Mapping[str, object], context: ReleaseContext
) -> PreparedRelease:
    return Counts(context, parse_epsilon(str(arguments["epsilon"])))


class Unkept(SqliteStore):
    """Stops before it keeps a result."""

    def store_result(self, row: ResultRow, record: bytes | None = None) -> ResultRow:
        stand_still()
        raise AssertionError("somebody woke it")


def main(folder: str, collection: str, where: str) -> None:
    settings = Settings(data=Path(folder) / "data")
    store = (Unkept if where == "keep" else SqliteStore)(settings.database)
    service = Service.open(settings, clock=Moment(), store=store)
    prepare = slow if where == "draw" else quick
    releases = ReleaseService(service.store, clock=Moment(), prepare=prepare)
    releases.release(service.registry.get(collection), asked("0.4"), audit=None)
    stand_still()


if __name__ == "__main__":
    main(*sys.argv[1:])
