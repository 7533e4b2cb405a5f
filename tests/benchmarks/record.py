"""`record()` as the host application feels it: consent, ceiling, coins, one transaction."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Effort, Line, percentile
from benchmarks.results import Case, Result, at_most
from benchmarks.world import ORIGIN, Author
from deniable_client import Ceiling, Client

COLLECTIONS = 100
EPSILON = "0.1"
CEILING = Ceiling(epsilon_per_report=2, epsilon_permanent=4, epsilon_lifetime=20)
ANSWER = {"dark_mode": True, "beta": False}
BUDGET_MS = 0.1
Recorded = tuple[list[float], list[float]]  # seconds of first and of repeated calls


def run(effort: Effort) -> Result:
    """First answers and repeated calls, on disk and in memory, against one bare transaction."""
    author = Author()
    names = [f"question-{number}" for number in range(effort.sized(COLLECTIONS, least=5))]
    shipped = [author.sign(author.bits(n, list(ANSWER), epsilon=EPSILON)) for n in names]
    disk, memory, bare = [], [], []
    for _ in range(effort.rounds):
        with TemporaryDirectory() as directory:
            disk.append(_client(author.trust, shipped, Path(directory) / "state", names))
            bare.append(_bare(Path(directory) / "bare", len(names)))
        memory.append(_client(author.trust, shipped, ":memory:", names))
    first = _case("first answer", disk, memory, bare, 0)
    return Result(
        title="record()",
        cases=(
            first,
            _case("first answer, 99th percentile", disk, memory, bare, 0, 0.99),
            _case("repeated call", disk, memory, bare, 1),
        ),
        verdicts=(
            at_most(
                "record(), median",
                BUDGET_MS * 1e3,
                first.ours,
                bound=f"one SQLite transaction of this shape takes {first.lines[-1].median:.0f} µs",
            ),
        ),
        remarks=(
            f"Each round opens a new state with {len(names)} collections and answers each once; no "
            "peer keeps a ledger, so the limit is a bare sqlite3 transaction of one insert and one "
            "update in the same mode (WAL, synchronous=NORMAL, secure_delete).",
            "About every 85th first answer meets SQLite's own checkpoint, two synchronous writes.",
        ),
    )


def _case(
    title: str,
    disk: list[Recorded],
    memory: list[Recorded],
    bare: list[Recorded],
    which: int,
    share: float = 0.5,
) -> Case:
    def line(name: str, role: str, rounds: list[Recorded]) -> Line:
        return Line(name, role, "µs", tuple(percentile(r[which], share) * 1e6 for r in rounds))

    lines = [line("deniable, state on disk", "ours", disk)]
    lines.append(line("deniable, state in memory", "ours", memory))
    if which == 0:
        lines.append(line("bare SQLite transaction", "limit", bare))
    return Case(title, tuple(lines))


def _client(trust: str, shipped: list[bytes], state: str | Path, names: list[str]) -> Recorded:
    with Client(
        ORIGIN, trust=trust, manifests=shipped, state=state, ceiling=CEILING, background=False
    ) as client:
        client.consent("granted")
        record = client.record
        first = [_timed(partial(record, name, ANSWER)) for name in names]
        repeated = [_timed(partial(record, name, ANSWER)) for name in names]
        assert len(client.budget().collections) == len(names)
    return first, repeated


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _bare(path: Path, count: int) -> Recorded:
    with _database(path) as database:
        return [_timed(partial(_transaction, database, n)) for n in range(count)], []


@contextmanager
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    database = sqlite3.connect(path, isolation_level=None)
    try:
        for pragma in ("journal_mode=wal", "synchronous=normal", "secure_delete=on"):
            database.execute(f"pragma {pragma}")
        database.execute("create table chain (id integer primary key, key blob)")
        database.execute("create table queue (id blob primary key, payload blob) without rowid")
        database.execute("insert into chain values (1, zeroblob(32))")
        yield database
    finally:
        database.close()


def _transaction(database: sqlite3.Connection, number: int) -> None:
    database.execute("begin immediate")
    database.execute("update chain set key = randomblob(32) where id = 1")
    database.execute("insert into queue values (randomblob(16), ?)", (number.to_bytes(8, "big"),))
    database.execute("commit")
