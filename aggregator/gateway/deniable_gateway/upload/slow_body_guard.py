"""Request bodies that do not come are cut off: each would hold one thread for as long as it likes.

WSGI has no time limit for reading a body, and the server none of its own. So reads under way are
noted; where one takes too long, the connections of its address on which nothing was answered for as
long are shut down: the read ends at once, with what has come. Where the kernel does not tell when
something was last sent on a connection (TCP_INFO, Linux), a buffering proxy has to do this.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

BODY_SECONDS = 10
"""How long the body of a request may take."""

_DESCRIPTORS = Path("/proc/self/fd")
_TCP_INFO = getattr(socket, "TCP_INFO", None)
_LAST_DATA_SENT = struct.Struct("=44xI")  # milliseconds since, or since the connection was made
_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_MAPPED = "::ffff:"

ShutDownSilent = Callable[[str, float], int]


def shut_down_silent(address: str, seconds: float) -> int:
    """Shut down this address's connections on which nothing was sent for so long; how many.

    Only those to a port that this process listens on: what it opened itself is not meant.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(closing(each)) for each in _tcp_sockets()]
        ports = {_port(each) for each in sockets if _listens(each)}
        silent = [each for each in sockets if _port(each) in ports and _is_silent(each, seconds)]
        return sum(_close(each) for each in silent if _peer(each) == _without_prefix(address))


class SlowBodyGuard:
    """Knows which bodies are being read, and since when. Thread-safe."""

    def __init__(
        self,
        seconds: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        shut_down: ShutDownSilent = shut_down_silent,
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._shut_down = shut_down
        self._reads: dict[object, tuple[float, str]] = {}

    def read(self, stream: Any, length: int, address: str) -> bytes:
        """`length` bytes; fewer when the other side ends early, or is cut off."""
        this = object()
        self._reads[this] = self._clock(), address
        try:
            body: bytes = stream.read(length)
            return body
        finally:
            del self._reads[this]

    def watch(self, stream: Any, address: str) -> WatchedStream:
        """The same stream for a framework."""
        return WatchedStream(self, stream, address)

    def cut_off(self) -> int:
        """Cut those that take too long; how many connections. Call every second or so."""
        late = self._clock() - self._seconds
        stalled = {address for since, address in list(self._reads.values()) if since <= late}
        return sum(self._shut_down(address, self._seconds) for address in sorted(stalled - {""}))


class WatchedStream:
    """`wsgi.input` whose reads are noted."""

    def __init__(self, guard: SlowBodyGuard, stream: Any, address: str) -> None:
        self._guard = guard
        self._stream = stream
        self._address = address

    def read(self, size: int = -1) -> bytes:
        """As the stream does."""
        return self._guard.read(self._stream, size, self._address)

    def readline(self, size: int = -1) -> bytes:
        """As the stream does."""
        return self._guard.read(_LineReader(self._stream), size, self._address)

    def readlines(self, _hint: int = -1) -> list[bytes]:
        """All lines."""
        return list(self)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")


class _LineReader:
    """Reads a line where `read` is asked for."""

    def __init__(self, stream: Any) -> None:
        self.read = stream.readline


def _tcp_sockets() -> Iterator[socket.socket]:
    """Duplicates of this process's TCP sockets: whoever owns one keeps it."""
    with suppress(OSError):
        for entry in Path(_DESCRIPTORS).iterdir():
            with suppress(OSError):
                if stat.S_ISSOCK(os.fstat(int(entry.name)).st_mode):
                    duplicate = socket.socket(fileno=os.dup(int(entry.name)))
                    if duplicate.type == socket.SOCK_STREAM and duplicate.family in _FAMILIES:
                        yield duplicate
                    else:
                        duplicate.close()


def _listens(connection: socket.socket) -> bool:
    return bool(connection.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _port(connection: socket.socket) -> int:
    return int(connection.getsockname()[1])


def _peer(connection: socket.socket) -> str:
    return _without_prefix(connection.getpeername()[0])


def _is_silent(connection: socket.socket, seconds: float) -> bool:
    if _listens(connection) or _TCP_INFO is None:
        return False
    try:
        connection.getpeername()
        info = connection.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _LAST_DATA_SENT.size)
    except OSError:
        return False
    return bool(_LAST_DATA_SENT.unpack(info)[0] >= seconds * 1_000)


def _close(connection: socket.socket) -> bool:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
        return True
    return False


def _without_prefix(address: str) -> str:
    return address.removeprefix(_MAPPED)
