"""The same tally on processes of one machine and on Spark, side by side, to the last integer."""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks import cluster, spooling
from benchmarks.measure import Effort, Line
from benchmarks.results import Case, Result, at_least_share
from benchmarks.world import Deployment, deployment
from deniable_aggregator.operations.service import Service
from deniable_aggregator.spool.job import Engine, tally_spool
from deniable_aggregator.spool.local import LocalEngine
from deniable_aggregator.spool.spark import SparkEngine
from deniable_gateway.spool import MAX_RECORDS, blocks, open_spool
from support.processes.processor_time import spent_by

LEAST_BLOCKS = 12
UNARY, UNARY_FILES = 100_000_000, 100
SHARE = 0.8
LOCAL, SPARK, OPEN, ONE = "local processes", "Spark", "HPKE open alone", "one process"
Sums = list[tuple[int, int, list[int]]]


@dataclass(frozen=True, slots=True)
class Run:
    """One engine's way: seconds on the wall and of processor time, what it counted.

    Of the processor time `java` is the part of Spark's own machines.
    """

    reports: int
    wall: float
    spent: float
    sums: Sums
    kept: float = 0.0  # bytes in the store
    java: float = 0.0


def run(effort: Effort) -> Result:
    """Spark has a master and two workers on loopback, where it can be had."""
    absent = cluster.missing()
    cores = effort.sized(os.cpu_count() or 1)
    with ExitStack() as stack:
        engines: dict[str, Engine] = {LOCAL: LocalEngine(cores)}
        roots = [os.getpid()]
        if effort.peers and not absent:
            spark = stack.enter_context(cluster.standalone(max(1, cores // cluster.WORKERS)))
            stack.enter_context(cluster.session(spark.address))
            engines[SPARK] = SparkEngine()
            roots += spark.processes
        unary = stack.enter_context(_payloads(effort, cores))
        if SPARK in engines:  # its workers load numpy once
            _plain(engines[SPARK], unary[: 2 * cores])
        plain = {name: _plain(engine, unary) for name, engine in engines.items()}
        plain[ONE] = _plain(lambda work, paths: map(work, paths), unary)
        sealed, alone, spooled = _sealed(effort, engines, cores, roots, stack)
    _require_same([each.sums for each in plain.values()])
    _require_same([each.sums for each in sealed.values()])
    return _result(plain, sealed, alone, spooled, cores)


@contextmanager
def _payloads(effort: Effort, cores: int) -> Iterator[list[str]]:
    """Files of opened payloads: 16 bytes a report, nothing else."""
    count = effort.sized(UNARY // UNARY_FILES, least=1_000)
    files = effort.sized(UNARY_FILES, least=4)
    with TemporaryDirectory() as folder:
        made = LocalEngine(cores)(
            partial(spooling.write_payloads, folder, count), list(map(str, range(files)))
        )
        yield [str(Path(folder) / f"{number.decode()}.payloads") for number in made]


def _plain(engine: Engine, paths: list[str]) -> Run:
    started, own = time.perf_counter(), time.process_time()
    spent, reports, total = 0.0, 0, np.zeros(spooling.BITS, np.int64)
    for data in engine(spooling.count_payloads, paths):
        seconds, n, tally = json.loads(data)
        spent, reports = spent + seconds, reports + n
        total += np.array(tally)
    wall, own = time.perf_counter() - started, time.process_time() - own
    return Run(reports, wall, max(spent, own), [(0, reports, total.tolist())])


def _sealed(
    effort: Effort, engines: dict[str, Engine], cores: int, roots: list[int], stack: ExitStack
) -> tuple[dict[str, Run], Line, Line]:
    """Each engine counts the same spool into a copy of the same empty store."""
    made = stack.enter_context(deployment())
    folder = Path(stack.enter_context(TemporaryDirectory()))
    spool = folder / "spool"
    spool.mkdir()
    count = effort.sized(effort.sealed)
    number = max(LEAST_BLOCKS, math.ceil(count / MAX_RECORDS))
    size = math.ceil(count / number)
    seal = partial(spooling.seal_block, made.target, str(spool), size)
    list(LocalEngine(cores)(seal, list(map(str, range(number)))))
    keys = made.settings.data / "keys"
    alone_at = partial(_alone, made, keys, spool, cores)
    rates: list[float] = []
    runs: dict[str, Run] = {}
    for name, engine in engines.items():
        rates.append(alone_at())
        runs[name] = _tallied(made, folder / name.replace(" ", "-"), spool, engine, roots)
        rates.append(alone_at())
    alone = Line(OPEN, "limit", "reports/s", (sum(rates) / len(rates),), "a core", True)
    size = sum(block.size for block in blocks(open_spool(spool))) / runs[LOCAL].reports
    return runs, alone, Line("in the spool", "ours", "bytes", (size,), "until it is counted")


def _alone(made: Deployment, keys: Path, spool: Path, cores: int) -> float:
    """Opens a second of processor time, under the same load: as many processes at once."""
    work = partial(spooling.open_alone, made.target, str(keys), str(spool))
    names = [block.name for block in blocks(open_spool(spool))][:cores]
    actual = [json.loads(data) for data in LocalEngine(cores)(work, names)]
    return sum(n for _, n in actual) / sum(seconds for seconds, _ in actual)


def _tallied(made: Deployment, data: Path, spool: Path, engine: Engine, roots: list[int]) -> Run:
    shutil.copytree(made.settings.data, data)
    service = Service.open(replace(made.settings, data=data))
    try:
        started, before = time.perf_counter(), spent_by(roots)
        summary = tally_spool(service, spool, engine, progress=lambda done, total: None)
        wall, spent = time.perf_counter() - started, spent_by(roots) - before
        rows = service.store.tallies(made.manifest.collection, 0, 2**32 - 1)
        sums = [(row.key.epoch, row.n, row.tally.tolist()) for row in rows]
    finally:
        service.close()
    if summary.refused or summary.damaged or summary.counted != summary.records:
        raise RuntimeError(f"not everything was counted: {summary}")
    kept = sum(path.stat().st_size for path in data.glob("deniable.db*"))
    java = spent.java if isinstance(engine, SparkEngine) else 0.0  # it idles meanwhile
    return Run(summary.records, wall, spent.others + java, sums, kept, java)


def _require_same(found: list[Sums]) -> None:
    if any(sums != found[0] for sums in found):
        raise RuntimeError("the engines do not give the same integers")


def _lines(runs: dict[str, Run]) -> tuple[list[Line], list[Line]]:
    """Throughput on the wall, and for each second of processor time."""
    wall, core = [], []
    for name, each in runs.items():
        role = "limit" if name == ONE else "ours"
        wall.append(Line(name, role, "reports/s", (each.reports / each.wall,), "", True))
        note = f"Java has {each.java / each.spent:.1%} of the time" if each.java else ""
        core.append(Line(name, role, "reports/s", (each.reports / each.spent,), note, True))
    return wall, core


def _result(
    plain: dict[str, Run], sealed: dict[str, Run], alone: Line, spooled: Line, cores: int
) -> Result:
    opened, counted = plain[LOCAL].reports, sealed[LOCAL].reports
    plain_wall, plain_core = _lines(plain)
    sealed_wall, sealed_core = _lines(sealed)
    verdicts = tuple(
        at_least_share(
            f"sealed spool, {line.name}, a core ≥ {SHARE} × {OPEN}",
            SHARE,
            line,
            alone,
            bound="checks, dealing with ids, one transaction a group of blocks",
        )
        for line in sealed_core
    )
    sealed_core.append(alone)
    kept = Line(
        "in the store",
        "ours",
        "bytes",
        (sealed[LOCAL].kept / counted,),
        "its id, until its epoch closes",
    )
    absent = "" if SPARK in sealed else f" Spark did not run: {cluster.missing() or 'quick run'}."
    return Result(
        title="Scale",
        cases=(
            Case(
                f"unary, {spooling.BITS} bits, {opened:,} opened, on {cores} cores",
                tuple(plain_wall),
            ),
            Case(f"unary, {spooling.BITS} bits, {opened:,} opened, a core", tuple(plain_core)),
            Case(f"sealed, 8 bits, {counted:,} reports, on {cores} cores", tuple(sealed_wall)),
            Case(f"sealed, 8 bits, {counted:,} reports, a core", tuple(sealed_core)),
            Case("sealed, 8 bits, a report on disk", (spooled, kept)),
        ),
        verdicts=verdicts,
        remarks=(
            "Both engines counted the same integers, compared to the last one. Spark is a "
            "standalone master with two workers on loopback; its session was open before. A core: "
            "a second of processor time, which other load of the machine changes little. Unary: "
            "that of the work itself. Sealed: that of every process from the first block to the "
            "last, workers' starts, the committing process and Spark's Java machines included. "
            f"HPKE alone was measured around each, on as many cores.{absent}",
            "Sealed reports go the whole way: spool, HPKE, checks, ids, SQLite. Durable "
            "transactions of a block, or an eighth of what is counted.",
        ),
    )
