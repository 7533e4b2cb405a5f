"""Connections that are slow, idle, large, or cut: one process holds them, on one core.

python -m benchmarks.attackers KIND CONNECTIONS PORT PATH SECONDS. It ends by itself. Each
connection does one thing a second, and is made again when the other side closes it. Loopback only.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import struct
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from deniable_shared.wire.report import MAX_UPLOAD_BYTES, MEDIA_TYPE

HOST = "127.0.0.1"
STEP_SECONDS = 1.0
RESET = struct.pack("ii", 1, 0)
FORM = "application/x-www-form-urlencoded"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Target:
    """Where uploads go, and until when."""

    port: int
    path: str
    until: float

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.until


def head(path: str, media_type: str, length: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {media_type}\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


async def silent(target: Target, streams: Streams) -> None:
    """Says nothing."""
    await _wait(target, streams)


async def dripped_header(target: Target, streams: Streams) -> None:
    """A header that never ends, a byte a second."""
    await _drip(target, streams, b"GET / HTTP/1.1\r\nX: ")


async def dripped_upload(target: Target, streams: Streams) -> None:
    """An upload whose body comes a byte a second."""
    await _drip(target, streams, head(target.path, MEDIA_TYPE, 2_000))


async def dripped_form(target: Target, streams: Streams) -> None:
    """A form whose body comes a byte a second."""
    await _drip(target, streams, head("/sign-in", FORM, 2_000))


async def kept_alive(target: Target, streams: Streams) -> None:
    """Asks once, and keeps the connection."""
    streams[1].write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    await _wait(target, streams)


async def maximal(target: Target, streams: Streams) -> None:
    """The largest bodies there may be, one a second."""
    while not target.over:
        streams[1].write(head(target.path, MEDIA_TYPE, MAX_UPLOAD_BYTES) + bytes(MAX_UPLOAD_BYTES))
        await streams[1].drain()
        await asyncio.sleep(STEP_SECONDS)


async def reset(target: Target, streams: Streams) -> None:
    """Half a body, and then a reset."""
    streams[1].write(head(target.path, MEDIA_TYPE, 2_000) + bytes(100))
    await streams[1].drain()
    await asyncio.sleep(STEP_SECONDS)
    own: socket.socket = streams[1].get_extra_info("socket")
    own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


async def slow_reader(target: Target, streams: Streams) -> None:
    """Asks for the largest file there is, and reads a byte of it a second."""
    streams[0]._transport.pause_reading()  # type: ignore[attr-defined]  # no public way to stop reading
    streams[1].write(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 4)
    await _wait(target, streams)


KINDS: dict[str, Callable[[Target, Streams], Awaitable[None]]] = {
    "silent": silent,
    "header": dripped_header,
    "upload": dripped_upload,
    "form": dripped_form,
    "keep-alive": kept_alive,
    "maximal": maximal,
    "reset": reset,
    "reader": slow_reader,
}


async def _wait(target: Target, streams: Streams) -> None:
    while not target.over and not streams[0].at_eof():
        await asyncio.sleep(STEP_SECONDS)


async def _drip(target: Target, streams: Streams, start: bytes) -> None:
    streams[1].write(start)
    while not target.over and not streams[0].at_eof():
        streams[1].write(b"x")
        await streams[1].drain()
        await asyncio.sleep(STEP_SECONDS)


async def _again(target: Target, attack: Callable[[Target, Streams], Awaitable[None]]) -> None:
    while not target.over:
        with suppress(OSError):
            streams = await asyncio.open_connection(HOST, target.port)
            try:
                await attack(target, streams)
            finally:
                streams[1].transport.abort()
        await asyncio.sleep(STEP_SECONDS / 10)


async def attack(kind: str, connections: int, target: Target) -> None:
    """So many connections, begun within a second."""
    tasks = []
    for number in range(connections):
        tasks.append(asyncio.ensure_future(_again(target, KINDS[kind])))
        if number % 100 == 99:
            await asyncio.sleep(STEP_SECONDS / 20)
    await asyncio.wait(tasks, timeout=max(0.0, target.until - time.monotonic()) + 1)


def main(kind: str, connections: str, port: str, path: str, seconds: str) -> None:
    with suppress(AttributeError, OSError, ValueError):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    target = Target(int(port), path, time.monotonic() + float(seconds))
    asyncio.run(attack(kind, int(connections), target))


if __name__ == "__main__":
    main(*sys.argv[1:])
