"""What an upload waits at half load, and what too many cost.

python -m benchmarks.overload [--seconds 10]

What the server can do over 32 connections in a closed loop; half as many requests, each at its own
moment; three times as many connections as uploads may be in hand, none of which waits before it
asks again; and an empty ASGI application behind the same server, over both numbers of connections.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from benchmarks.attackers import HOST, head
from benchmarks.load import Load
from benchmarks.measure import percentile
from benchmarks.server import Served
from benchmarks.upload import KEEP_ALIVE, OURS, PROCESSES, measured
from benchmarks.worker import seal
from benchmarks.world import Deployment, deployment
from deniable_gateway.upload.front import Bounds
from deniable_shared.wire.report import MEDIA_TYPE

PACED_CONNECTIONS = 64
TOO_MANY = 3 * Bounds().uploads
SEALED_PER_SECOND = 8_000


@dataclass(slots=True)
class Answers:
    """Seconds that answers took, by status; refusals that did not say when to come again."""

    seconds: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    unsaid: int = 0

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


def run(load: Coroutine[Any, Any, None], server: Served) -> float:
    """Processor time of the server while it lasts, in seconds."""
    before = server.cpu_seconds()
    asyncio.run(load)
    return server.cpu_seconds() - before


def line(name: str, uploads: Uploads, spent: float, seconds: float) -> str:
    by_status = uploads.answers.seconds
    taken = by_status[200]
    refused = [each for status, all_ in by_status.items() if status != 200 for each in all_]
    cost = spent / (len(taken) + len(refused)) * 1e6
    return (
        f"| {name} | {_shown(taken, seconds)} | {_shown(refused, seconds)} "
        f"| {uploads.answers.unsaid} | {cost:.0f} |"
    )


def _shown(took: list[float], seconds: float) -> str:
    if not took:
        return "0 |"
    middle, late = (percentile(took, share) * 1e3 for share in (0.5, 0.99))
    return f"{len(took) / seconds:,.0f} | {middle:.1f} / {late:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    seconds = parser.parse_args().seconds
    print("| load | taken a second | p50 / p99 ms | refused a second | p50 / p99 ms | ", end="")
    print("without Retry-After | µs of processor time a request |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with deployment() as made, made.serve() as server:
        rate, cost = capacity(made, server, seconds)
        print(f"| 32 connections | {rate:,.0f} | | 0 | | 0 | {cost:.0f} |", flush=True)
        bodies = deque(seal(int(2 * seconds * SEALED_PER_SECOND), made.target))
        half = Uploads(server.port, made.path, bodies)
        spent = run(half.paced(rate / 2, seconds), server)
        print(line("half of that", half, spent, seconds), flush=True)
        many = Uploads(server.port, made.path, bodies)
        spent = run(many.closed(TOO_MANY, seconds), server)
        print(line(f"{TOO_MANY:,} connections", many, spent, seconds), flush=True)
        taken = len(many.answers.seconds[200])
        refused = sum(map(len, many.answers.seconds.values())) - taken
        alone = (spent - taken * cost * 1e-6) / max(1, refused) * 1e6
        with made.serve_limit("benchmarks.empty:bare") as bare:
            bare.wait()
            for connections in (32, TOO_MANY):
                some = deque(bodies, maxlen=2 * connections)
                empty = Uploads(bare.port, made.path, some, again=True)
                spent = run(empty.closed(connections, seconds), bare)
                print(line(f"empty, {connections:,} connections", empty, spent, seconds))
        print(f"| a refusal alone | | | | | | {alone:.0f} |")


def capacity(made: Deployment, server: Served, seconds: float) -> tuple[float, float]:
    """Uploads a second, and processor time of each in µs."""
    with Load(PROCESSES) as load:
        load.prepare(int(seconds * SEALED_PER_SECOND), made.target)
        sample = measured(made, load, OURS, server, KEEP_ALIVE, seconds)
    return sample.outcome.per_second, sample.cpu_us


if __name__ == "__main__":
    main()
