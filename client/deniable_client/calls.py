"""Requests under way: each has one time limit for all of it, and another thread can cut it off."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

__all__ = ["Call", "Calls"]


class Call:
    """One request and its reply. Thread-safe."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._cut = False

    def left(self) -> float:
        """Seconds left. Raises TimeoutError if none are, ConnectionAbortedError after `cut`."""
        if self._cut:
            raise ConnectionAbortedError("the request was cut off")
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the request took too long")
        return seconds

    def hold(self, connection: socket.socket) -> None:
        """Make this the socket that `cut` shuts down. Raises ConnectionAbortedError after `cut`."""
        with self._lock:
            self._socket = connection
        self.left()

    def close(self, connection: socket.socket) -> None:
        """Close a socket. The lock keeps `cut` from meeting another file under its descriptor."""
        with self._lock:
            self._socket = None
            connection.close()

    def cut(self) -> None:
        """Shut the connection down: what reads or writes there fails at once."""
        with self._lock:
            self._cut = True
            if self._socket is not None:
                _shut_down(self._socket)


class Calls:
    """The requests of one client that are under way. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: set[Call] = set()
        self.closed: bool = False

    @contextmanager
    def begin(self, seconds: float) -> Iterator[Call]:
        """A request of at most so many seconds, from now."""
        call = Call(seconds)
        with self._lock:
            self._under_way.add(call)
        try:
            yield call
        finally:
            with self._lock:
                self._under_way.discard(call)

    def cut(self) -> None:
        """Cut off every request under way."""
        with self._lock:
            calls = tuple(self._under_way)
        for call in calls:
            call.cut()

    def close(self) -> None:
        """Cut off every request under way, and let no other begin."""
        self.closed = True
        self.cut()

    def after_fork(self) -> None:
        """Leave the requests to the process that made them; its connections are shared."""
        self._lock = threading.Lock()
        self._under_way = set()


def _shut_down(connection: socket.socket) -> None:
    import socket

    with suppress(OSError):  # it may be down already
        # SSLSocket.shutdown would drop the encryption under a thread that writes.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
