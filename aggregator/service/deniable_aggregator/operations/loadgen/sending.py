"""Sends requests when they are due, over a fixed number of open connections.

Latency counts from when a request was due, so a slow service also pays for requests that it delays.
A request is sent only once. If its connection fails, it counts as failed, and the next request
connects again.
"""

from __future__ import annotations

import asyncio
import math
import ssl
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from deniable_aggregator.operations.loadgen.plan import LoadError, LoadPlan
from deniable_shared.wire.report import MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

STATUS_BYTES = 17
ACCEPTED = 200


@dataclass(slots=True)
class LoadResult:
    """Latencies in seconds from when a request was due to its answer's last byte."""

    reports_per_request: int
    latencies: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    refused: int = 0
    failed: int = 0
    seconds: float = 0.0

    def add(self, status: int, body: bytes, latency: float) -> None:
        """One answer."""
        self.statuses[status] += 1
        self.latencies.append(latency)
        if status == ACCEPTED:
            self.refused += len(body) // STATUS_BYTES

    @property
    def accepted(self) -> int:
        """Reports that the service accepted."""
        return self.statuses[ACCEPTED] * self.reports_per_request - self.refused

    def document(self) -> dict[str, object]:
        """The JSON document of `--json`."""
        taken = max(self.seconds, 1e-9)
        return {
            "requests": len(self.latencies),
            "failed": self.failed,
            "seconds": round(self.seconds, 3),
            "statuses": {str(status): n for status, n in sorted(self.statuses.items())},
            "accepted": self.accepted,
            "refused": self.refused,
            "requests_per_second": round(len(self.latencies) / taken, 1),
            "reports_per_second": round(self.accepted / taken, 1),
            "p50_ms": _milliseconds(self.latencies, 0.5),
            "p99_ms": _milliseconds(self.latencies, 0.99),
        }


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample below which `share` of them lie (nearest rank)."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _milliseconds(latencies: Sequence[float], share: float) -> float | None:
    return round(percentile(latencies, share) * 1e3, 3) if latencies else None


ANSWER_SECONDS = 30.0
MOST_HEAD_BYTES = 65_536

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class UploadTarget:
    """The address of requests, and the relay token for more than one report a request."""

    url: str
    path: str
    token: str | None = None

    def head(self, length: int) -> bytes:
        """The head of a request with a body of `length` bytes."""
        lines = [
            f"POST {self.path} HTTP/1.1",
            f"Host: {urlsplit(self.url).netloc}",
            f"Content-Type: {MEDIA_TYPE}",
            f"Content-Length: {length}",
            *([f"Authorization: Bearer {self.token}"] if self.token else []),
        ]
        return "\r\n".join([*lines, "", ""]).encode("ascii")


def send(
    address: UploadTarget, bodies: Sequence[bytes], plan: LoadPlan, progress: Callable[[int], None]
) -> LoadResult:
    """Send all requests; calls `progress` with the number of answers."""
    return asyncio.run(_send(address, bodies, plan, progress))


async def _send(
    address: UploadTarget, bodies: Sequence[bytes], plan: LoadPlan, progress: Callable[[int], None]
) -> LoadResult:
    outcome = LoadResult(plan.reports)
    started = time.perf_counter()
    due = iter([(started + place / plan.rate, body) for place, body in enumerate(bodies)])
    connections = [_Connection(address, outcome, progress) for _ in range(plan.connections)]
    await asyncio.gather(*(connection.run(due) for connection in connections))
    outcome.seconds = time.perf_counter() - started
    return outcome


class _Connection:
    """One connection, which sends requests one after the other."""

    def __init__(
        self, address: UploadTarget, outcome: LoadResult, progress: Callable[[int], None]
    ) -> None:
        self._address = address
        self._outcome = outcome
        self._progress = progress
        self._stream: Stream | None = None

    async def run(self, due: Iterator[tuple[float, bytes]]) -> None:
        """Send requests from the shared iterator until there are none."""
        try:
            for moment, body in due:
                await asyncio.sleep(max(0.0, moment - time.perf_counter()))
                await self._send_one(moment, body)
                self._progress(len(self._outcome.latencies) + self._outcome.failed)
        finally:
            self._disconnect()

    async def _send_one(self, moment: float, body: bytes) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                status, answer, kept = await self._exchange(body)
        except (OSError, ValueError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            self._outcome.failed += 1
            self._disconnect()
            return
        self._outcome.add(status, answer, time.perf_counter() - moment)
        if not kept:
            self._disconnect()

    async def _exchange(self, body: bytes) -> tuple[int, bytes, bool]:
        if self._stream is None:
            self._stream = await _connect(urlsplit(self._address.url))
        reader, writer = self._stream
        writer.write(self._address.head(len(body)) + body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        connections = dict(
            connection.partition(b":")[::2] for connection in head.split(b"\r\n")[1:]
        )
        answer = await reader.readexactly(int(connections.get(b"content-length", b"0")))
        return int(head[9:12]), answer, connections.get(b"connection", b"").strip() != b"close"

    def _disconnect(self) -> None:
        if self._stream is not None:
            self._stream[1].close()
            self._stream = None


async def _connect(parts: SplitResult) -> Stream:
    secure = parts.scheme == "https"
    if parts.hostname is None:
        raise LoadError(f"url must be http(s)://host[:port], got {parts.geturl()!r}")
    return await asyncio.open_connection(
        parts.hostname,
        parts.port or (443 if secure else 80),
        ssl=ssl.create_default_context() if secure else None,
        limit=MOST_HEAD_BYTES,
    )
