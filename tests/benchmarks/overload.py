"""What an upload waits at half load, and what too many cost.

What the server can do over 32 connections in a closed loop; half as many requests, each at its own
moment; three times as many connections as uploads may be in hand, none of which waits before it
asks again. Then what one refusal costs: our front without a free place, and an empty ASGI
application, in turns behind the same server.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections import defaultdict, deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, cast

from benchmarks.attackers import HOST, head
from benchmarks.load import Load
from benchmarks.measure import Effort, Line, percentile
from benchmarks.results import Case, Grid, Result, Verdict, at_most
from benchmarks.server import Served
from benchmarks.upload import KEEP_ALIVE, OURS, PROCESSES, measured
from benchmarks.worker import seal
from benchmarks.world import Deployment, deployment
from deniable_aggregator.base.spans import NO_TRACER
from deniable_aggregator.collections.registry import Registry
from deniable_aggregator.ingest.watch import IngestWatch
from deniable_aggregator.operations.metrics.metrics import Metrics
from deniable_gateway.suspension import Suspension
from deniable_gateway.upload.front import Bounds, Front, Others
from deniable_gateway.upload.gate import Arrival, UploadGate
from deniable_gateway.upload.upload_queue import Outcome, UploadQueue
from deniable_shared.wire.report import MEDIA_TYPE

PACED_CONNECTIONS = 64
TOO_MANY = 3 * Bounds().uploads
SEALED_PER_SECOND = 8_000
SECONDS, ROUNDS = 10.0, 3
TITLE = "Half load and too many"
SHARED = "the load and the server share the machine's cores"
COLUMNS = (
    *("load", "accepted a second", "p50 / p99 ms", "refused a second", "p50 / p99 ms"),
    *("without Retry-After", "µs of processor time a request"),
)

Row = tuple[str, ...]


@dataclass(slots=True)
class Answers:
    """Seconds that answers took, by status; refusals that did not say when to come again."""

    seconds: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    unsaid: int = 0

    @property
    def accepted(self) -> list[float]:
        return self.seconds[200]

    @property
    def number(self) -> int:
        return sum(map(len, self.seconds.values()))

    @property
    def refused(self) -> list[float]:
        return [each for status, all_ in self.seconds.items() if status != 200 for each in all_]

    def add(self, answer: bytes, took: float) -> int:
        """The status."""
        status = int(answer[9:12])
        self.seconds[status].append(took)
        self.unsaid += status != 200 and b"\r\nretry-after: " not in answer.lower()
        return status


class Connection:
    """One that is kept, and made at its first request."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> bytes:
        """The head of the answer; its body is read, too."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(HOST, self._port)
        reader, writer = self._streams
        writer.write(request)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = answer.lower().partition(b"content-length:")[2].partition(b"\r")[0]
        await reader.readexactly(int(length or 0))
        return answer

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


@dataclass(slots=True)
class Uploads:
    """Requests with one report each, to one server."""

    port: int
    path: str
    bodies: deque[bytes]
    answers: Answers = field(default_factory=Answers)
    again: bool = False  # the same ones again and again, for a limit that does not look

    async def closed(self, connections: int, seconds: float) -> None:
        """So many connections, each of which asks again as soon as it has its answer."""
        until = time.monotonic() + seconds

        async def one() -> None:
            connection = Connection(self.port)
            while time.monotonic() < until:
                await self._ask(connection, time.perf_counter())
            connection.close()

        await asyncio.gather(*(one() for _ in range(connections)))

    async def paced(self, per_second: float, seconds: float) -> None:
        """Each at its own moment, which its latency is counted from."""
        free: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()
        for _ in range(PACED_CONNECTIONS):
            free.put_nowait(Connection(self.port))

        async def one(due: float) -> None:
            connection = await free.get()
            await self._ask(connection, due)
            free.put_nowait(connection)

        asked, due = [], time.perf_counter()
        end = due + seconds
        while due < end:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            asked.append(asyncio.ensure_future(one(due)))
            due += 1 / per_second
        await asyncio.gather(*asked)
        while not free.empty():
            free.get_nowait().close()

    async def _ask(self, connection: Connection, begun: float) -> None:
        body = self.bodies.popleft()
        answer = await connection.ask(head(self.path, MEDIA_TYPE, len(body)) + body)
        if self.answers.add(answer, time.perf_counter() - begun) != 200 or self.again:
            self.bodies.append(body)


def run(effort: Effort) -> Result:
    """Capacity, half of it, too many, and what an application that does nothing reaches."""
    seconds = max(0.5, SECONDS * effort.scale)
    too_many = effort.sized(TOO_MANY, least=64)
    with deployment() as made, made.serve() as server:
        rate, cost = capacity(made, server, seconds)
        bodies = deque(seal(int(2 * seconds * SEALED_PER_SECOND), made.target))
        *halves, many = (Uploads(server.port, made.path, bodies) for _ in range(ROUNDS + 1))
        rows: list[Row] = [("32 connections", f"{rate:,.0f}", "", "", "", "", f"{cost:.0f}")]
        for half in halves:
            spent = lasting(half.paced(rate / 2, seconds), server)
            rows.append(row("half of that", half, spent, seconds))
        spent = lasting(many.closed(too_many, seconds), server)
        rows.append(row(f"{too_many:,} connections", many, spent, seconds))
        with (
            made.serve_limit("benchmarks.overload:full") as full_front,
            made.serve_limit("benchmarks.empty:bare") as bare,
        ):
            refusals, empty = [], []
            for _ in range(ROUNDS):
                for server, costs in ((full_front, refusals), (bare, empty)):
                    server.wait()
                    uploads = Uploads(server.port, made.path, deque(bodies), again=True)
                    spent = lasting(uploads.closed(too_many, seconds / ROUNDS), server)
                    costs.append(spent / uploads.answers.number * 1e6)
    accepted = [half.answers.accepted for half in halves]
    return _result(tuple(rows), accepted, many.answers, tuple(refusals), tuple(empty))


def full() -> Front:
    """The service's front, as if all places for uploads were taken."""
    suspension = Suspension()
    return Front(
        UploadQueue(_never, suspension=suspension),
        cast(Others, None),
        gate=UploadGate(suspension, None),
        watch=IngestWatch(cast(Registry, None), Metrics(), NO_TRACER),
        bounds=Bounds(uploads=0),
    )


def _never(arrivals: Sequence[Arrival]) -> Sequence[Outcome]:
    raise AssertionError(f"{len(arrivals)} uploads had a place")


def _result(
    rows: tuple[Row, ...],
    halves: Sequence[Sequence[float]],
    many: Answers,
    refusals: tuple[float, ...],
    empty: tuple[float, ...],
) -> Result:
    middles, lates = (
        tuple(percentile(half, share) * 1e3 for half in halves) for share in (0.5, 0.99)
    )
    middle = median(middles)
    ours = Line("a refusal", "ours", "µs", refusals)
    limit = Line("a request of an empty application", "limit", "µs", empty)
    waits = Line("p99 at half load", "ours", "ms", lates, note=f"p50 {middle:.3g} ms")
    return Result(
        TITLE,
        (
            Case("processor time, far too many connections", (ours, limit)),
            Case("latency", (waits,)),
        ),
        (
            at_most(
                "a refusal ≤ 1.2 × an empty request",
                1.2 * limit.median,
                ours,
                bound="the count of refusals that operators see",
            ),
            at_most("p99 at half load ≤ 3 × p50 + 2 ms", 3 * middle + 2, waits, bound=SHARED),
            Verdict(
                "every refusal has Retry-After",
                f"{many.unsaid} of {len(many.refused):,} without",
                float(not many.unsaid),
                "",
            ),
        ),
        (
            f"{TOO_MANY:,} connections are three times as many as uploads may be in hand. None of "
            "them waits before it asks again. One process makes the load. A refusal is measured on "
            "the service's front without a place, where nothing else costs time.",
        ),
        (Grid("loads", COLUMNS, rows),),
    )


def lasting(load: Coroutine[Any, Any, None], server: Served) -> float:
    """Processor time of the server while a load lasts, in seconds.

    The load collects no garbage meanwhile: its pauses would look like the server's.
    """
    gc.collect()
    gc.disable()
    try:
        before = server.cpu_seconds()
        asyncio.run(load)
        return server.cpu_seconds() - before
    finally:
        gc.enable()


def row(name: str, uploads: Uploads, spent: float, seconds: float) -> Row:
    accepted, refused = uploads.answers.accepted, uploads.answers.refused
    cost = spent / uploads.answers.number * 1e6
    return (
        name,
        *_shown(accepted, seconds),
        *_shown(refused, seconds),
        f"{uploads.answers.unsaid}",
        f"{cost:.0f}",
    )


def _shown(took: list[float], seconds: float) -> tuple[str, str]:
    """How many a second, and p50 and p99 in ms."""
    if not took:
        return "0", ""
    middle, late = (percentile(took, share) * 1e3 for share in (0.5, 0.99))
    return f"{len(took) / seconds:,.0f}", f"{middle:.1f} / {late:.1f}"


def capacity(made: Deployment, server: Served, seconds: float) -> tuple[float, float]:
    """Uploads a second, and processor time of each in µs."""
    with Load(PROCESSES) as load:
        load.prepare(int(seconds * SEALED_PER_SECOND), made.target)
        sample = measured(made, load, OURS, server, KEEP_ALIVE, seconds)
    return sample.outcome.per_second, sample.cpu_us
