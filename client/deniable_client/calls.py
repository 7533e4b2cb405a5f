"""Requests in progress. Each has one time limit, and another thread can cut it off."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from deniable_client.errors import TransportError

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

__all__ = ["Answer", "Call", "Calls", "no_reply"]

Answer = tuple[int, Mapping[str, str], Iterable[bytes]]
"""Status, header fields, and the body piece by piece."""


class Call:
    """One request and its reply. Thread-safe."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._cut = False

    def left(self) -> float:
        """Return the seconds that are left.

        Raises TimeoutError if none are left, and ConnectionAbortedError after `cut`.
        """
        if self._cut:
            raise ConnectionAbortedError("the request was cut off")
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the request took too long")
        return seconds

    def hold(self, connection: socket.socket) -> None:
        """Remember the socket that `cut` shuts down. Raises ConnectionAbortedError after `cut`."""
        with self._lock:
            self._socket = connection
        self.left()

    def close(self, connection: socket.socket) -> None:
        """Close a socket.

        The lock keeps `cut` from shutting down another file that got the same descriptor.
        """
        with self._lock:
            self._socket = None
            connection.close()

    def cut(self) -> None:
        """Shut the connection down. Pending reads and writes fail at once."""
        with self._lock:
            self._cut = True
            if self._socket is not None:
                _shut_down(self._socket)


class Calls:
    """The requests of one client that are in progress. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: set[Call] = set()
        self.closed: bool = False

    @contextmanager
    def begin(self, seconds: float) -> Iterator[Call]:
        """Start a request that may take at most `seconds`."""
        call = Call(seconds)
        with self._lock:
            self._under_way.add(call)
        try:
            yield call
        finally:
            with self._lock:
                self._under_way.discard(call)

    def cut(self) -> None:
        """Cut off every request in progress."""
        with self._lock:
            calls = tuple(self._under_way)
        for call in calls:
            call.cut()

    def close(self) -> None:
        """Cut off every request in progress and reject new ones."""
        self.closed = True
        self.cut()

    def after_fork(self) -> None:
        """Forget the parent's requests in a forked child: the connections are the parent's."""
        self._lock = threading.Lock()
        self._under_way = set()


def _shut_down(connection: socket.socket) -> None:
    import socket

    with suppress(OSError):  # it may be down already
        # SSLSocket.shutdown would drop the encryption under a thread that writes.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def no_reply(method: str, url: str, error: Exception) -> TransportError:
    """Return the error of an exchange without a whole reply, with its cause in words."""
    detail = f" ({error!s:.200})" if str(error) else ""
    return TransportError(f"{method} {url}: {type(error).__name__}{detail}")
