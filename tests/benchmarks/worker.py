"""A process of the load generator: seals its own reports first, then sends them as ordered.

Reads one JSON command a line on standard input and answers with one JSON line each; ends when the
input does. Loopback only. Every report is sent to a store at most once: it meets no duplicate.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from deniable_shared.wire import envelope, report

HOST = "127.0.0.1"
GIVE_UP_SECONDS = 5.0


@dataclass(slots=True)
class Exchange:
    """One request under way."""

    connection: socket.socket
    started: float
    received: bytearray = field(default_factory=bytearray)


@dataclass(slots=True)
class Tallied:
    """What came back."""

    statuses: Counter[int] = field(default_factory=Counter)
    refused: int = 0  # bytes of per-report errors in replies of status 200
    latencies: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Plan:
    """One run of load: who is asked, over how many connections, for how long."""

    port: int
    path: str
    headers: dict[str, str]
    fresh: bool
    connections: int
    seconds: float
    most: int = 0  # requests, where the time is not the limit


def seal(count: int, target: dict[str, str | int]) -> list[bytes]:
    """`count` encoded reports of random ids, payload one byte of a fair coin's bits."""
    digest = bytes.fromhex(str(target["digest"]))
    public_key = bytes.fromhex(str(target["public_key"]))
    size = report.padded_size(1)
    return [_sealed(target, digest, public_key, size) for _ in range(count)]


def _sealed(target: dict[str, str | int], digest: bytes, public_key: bytes, size: int) -> bytes:
    header = report.ReportHeader(
        os.urandom(16), int(target["epoch"]), int(target["version"]), int(target["key_id"])
    )
    info = report.seal_info(str(target["collection"]), digest, header)
    plaintext = report.Plaintext(os.urandom(1)).encode(size)
    return report.Report(
        header, envelope.seal(plaintext, public_key=public_key, info=info)
    ).encode()


def drive(plan: Plan, bodies: Iterator[bytes]) -> dict[str, object]:
    """Keep `plan.connections` requests under way until the time or the bodies are over."""
    tallied = Tallied()
    selector = selectors.DefaultSelector()
    started = time.perf_counter()
    stop_at = started + plan.seconds
    for _ in range(plan.connections):
        _begin(plan, bodies, selector, None)
    while selector.get_map() and time.perf_counter() < stop_at + GIVE_UP_SECONDS:
        for key, _ in selector.select(timeout=0.5):
            _advance(plan, bodies, selector, key.data, tallied, stop_at)
    elapsed = time.perf_counter() - started
    for key in list(selector.get_map().values()):
        key.data.connection.close()
    selector.close()
    return {
        "requests": len(tallied.latencies),
        "seconds": elapsed,
        "statuses": dict(tallied.statuses),
        "refused_bytes": tallied.refused,
        "latencies": tallied.latencies,
    }


def _begin(
    plan: Plan,
    bodies: Iterator[bytes],
    selector: selectors.BaseSelector,
    connection: socket.socket | None,
) -> None:
    body = next(bodies, None)
    if body is None:
        if connection is not None:
            connection.close()
        return
    started = time.perf_counter()
    if connection is None:
        connection = socket.create_connection((HOST, plan.port), timeout=GIVE_UP_SECONDS)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(_request(plan, body))
    selector.register(connection, selectors.EVENT_READ, Exchange(connection, started))


def _request(plan: Plan, body: bytes) -> bytes:
    lines = [f"POST {plan.path} HTTP/1.1", f"Host: {HOST}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in plan.headers.items()]
    lines += ["Connection: close"] if plan.fresh else []
    return "\r\n".join([*lines, "", ""]).encode() + body


def _advance(
    plan: Plan,
    bodies: Iterator[bytes],
    selector: selectors.BaseSelector,
    exchange: Exchange,
    tallied: Tallied,
    stop_at: float,
) -> None:
    data = exchange.connection.recv(65_536)
    exchange.received += data
    finished = not data if plan.fresh else _complete(exchange.received)
    if data and not finished:
        return
    selector.unregister(exchange.connection)
    now = time.perf_counter()
    tallied.latencies.append(now - exchange.started)
    tallied.statuses[_status(exchange.received)] += 1
    tallied.refused += _body_bytes(exchange.received)
    if plan.fresh or not data:
        exchange.connection.close()
    if now < stop_at:
        _begin(plan, bodies, selector, None if plan.fresh or not data else exchange.connection)
    elif not plan.fresh:
        exchange.connection.close()


def _complete(received: bytearray) -> bool:
    head, separator, body = bytes(received).partition(b"\r\n\r\n")
    return bool(separator) and len(body) >= _content_length(head)


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


def _status(received: bytearray) -> int:
    return int(received[9:12]) if len(received) >= 12 else 0


def _body_bytes(received: bytearray) -> int:
    return len(received) - received.find(b"\r\n\r\n") - 4 if _status(received) == 200 else 0


class Worker:
    """Holds the sealed reports and a place in them."""

    def __init__(self) -> None:
        self.reports: list[bytes] = []
        self.used: Counter[str] = Counter()

    def prepare(self, command: dict[str, object]) -> dict[str, object]:
        """Seal what later runs will send."""
        target = command["target"]
        assert isinstance(target, dict)
        self.reports, self.used = seal(int(str(command["count"])), target), Counter()
        return {"sealed": len(self.reports)}

    def drive(self, command: dict[str, object]) -> dict[str, object]:
        """Send; `spend` names whose reports are used up: each store takes all, and each once.

        No sender, "": the same few again and again, for a limit that does not look.
        """
        plan = command["plan"]
        assert isinstance(plan, dict)
        batch = int(str(command["batch"]))
        spend = str(command["spend"])
        bodies = self._spent(spend, batch) if spend else self._stand_ins(batch)
        most = int(plan["most"]) or None
        return drive(Plan(**plan), islice(bodies, most))

    def _spent(self, whose: str, batch: int) -> Iterator[bytes]:
        while self.used[whose] + batch <= len(self.reports):
            start = self.used[whose]
            self.used[whose] += batch
            yield b"".join(self.reports[start : self.used[whose]])

    def _stand_ins(self, batch: int) -> Iterator[bytes]:
        body = b"".join(self.reports[:batch])
        while True:
            yield body


def main() -> None:
    """Serve commands until standard input ends."""
    worker = Worker()
    verbs: dict[str, Callable[[dict[str, object]], dict[str, object]]] = {
        "prepare": worker.prepare,
        "drive": worker.drive,
    }
    for line in sys.stdin:
        command = json.loads(line)
        print(json.dumps(verbs[command.pop("verb")](command)), flush=True)


if __name__ == "__main__":
    main()
