"""Whether uploads stay as fast when millions of ids lie on disk: empty stores against full ones."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from contextlib import ExitStack, closing
from dataclasses import dataclass

from benchmarks.load import Load
from benchmarks.measure import Effort, Line
from benchmarks.results import Case, Result, at_least_share
from benchmarks.server import Served
from benchmarks.stores import Postgres, copy_of, on_postgres, postgres
from benchmarks.upload import CONNECTIONS, KEEP_ALIVE, PROCESSES, Sample, measured, note
from benchmarks.world import Deployment, deployment

IDS = 5_000_000
SECONDS = 2.0
ROUNDS = 5
FLAT = 0.8
MOST_PER_SECOND = 6_000
STORES = ("SQLite", "PostgreSQL")

_FILL_SQLITE = """
with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ?)
insert into seen (collection, epoch, id) select 1, ?, randomblob(16) from numbers order by 3"""
_FILL_POSTGRES = """
insert into seen (collection, epoch, id)
select 1, {epoch}, uuid_send(gen_random_uuid()) from generate_series(1, {ids})"""


@dataclass(frozen=True, slots=True)
class Pair:
    """A store as new, and one like it that is full."""

    empty: Served
    full: Served


def run(effort: Effort) -> Result:
    """Fill in bulk, past the service, then let an empty and a full store take turns."""
    ids = effort.sized(IDS, least=2_000)
    rounds = max(1, min(effort.rounds, ROUNDS))
    seconds = SECONDS * max(effort.scale, 0.02)
    with ExitStack() as stack:
        made = stack.enter_context(deployment())
        database = stack.enter_context(postgres())
        load = stack.enter_context(Load(PROCESSES))
        pairs = _pairs(stack, made, database, ids)
        load.prepare(int(MOST_PER_SECOND * seconds * (rounds + 1)) + 1_000, made.target)
        _turns(made, load, pairs, rounds=1, seconds=seconds)
        taken = _turns(made, load, pairs, rounds=rounds, seconds=seconds)
    cases = tuple(_case(store, taken, ids) for store in STORES)
    return Result(
        title="Ids on disk",
        cases=cases,
        verdicts=tuple(
            at_least_share(
                f"uploads after {ids:,} ids, {store} ≥ {FLAT} × as new",
                FLAT,
                *case.lines,
                bound="random ids: each insert meets a page of its own",
            )
            for store, case in zip(STORES, cases, strict=True)
        ),
        remarks=(
            f"The ids are of the epoch that reports come in for. One report a request over "
            f"{CONNECTIONS} kept connections, one process; the first turn only warms up.",
        ),
    )


def _pairs(stack: ExitStack, made: Deployment, database: Postgres, ids: int) -> dict[str, Pair]:
    epoch = int(made.target["epoch"])
    full = copy_of(made, "full")
    with closing(sqlite3.connect(full.settings.database)) as connection:
        connection.execute(_FILL_SQLITE, (ids, epoch))
        connection.commit()
    shared, shared_full = (on_postgres(made, database) for _ in range(2))
    database.execute(shared_full.settings.store, _FILL_POSTGRES.format(epoch=epoch, ids=ids))
    database.execute(shared_full.settings.store, "vacuum analyze seen")

    def served(each: Deployment) -> Served:
        return stack.enter_context(each.serve())

    return {
        "SQLite": Pair(served(made), served(full)),
        "PostgreSQL": Pair(served(shared), served(shared_full)),
    }


def _turns(
    made: Deployment, load: Load, pairs: dict[str, Pair], *, rounds: int, seconds: float
) -> dict[tuple[str, str], list[Sample]]:
    taken = defaultdict(list)
    for turn in range(rounds):
        for store, pair in pairs.items():
            sides = [("full", pair.full), ("new", pair.empty)]
            for side, server in sides[:: 1 if turn % 2 else -1]:
                name = f"{store}, {side}"
                taken[store, side].append(measured(made, load, name, server, KEEP_ALIVE, seconds))
    return taken


def _case(store: str, taken: dict[tuple[str, str], list[Sample]], ids: int) -> Case:
    def line(side: str, role: str, name: str) -> Line:
        samples = taken[store, side]
        values = tuple(sample.outcome.per_second for sample in samples)
        return Line(name, role, "requests/s", values, note(samples), higher_is_better=True)

    return Case(
        f"{store}, one report a request",
        (line("full", "ours", f"{ids:,} ids on disk"), line("new", "limit", "as new")),
    )
