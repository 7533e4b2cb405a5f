"""A listener that answers with any bytes, as slowly as a test wants."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from deniable_client import Ceiling, Client, HttpTransport
from deniable_client.testing import FakeClock
from support.builders.client_world import START, Aggregator, Operator, toml
from support.builders.manifest_text import manifest_of

__all__ = ["Listener", "Speak", "device_of", "listening", "read_request", "served_keys"]

Speak = Callable[[socket.socket], object]
"""Holds one connection's conversation; the connection is closed when it returns."""


@dataclass
class Listener:
    """Hands every connection to `speak`, each on a thread of its own."""

    speak: Speak
    stop: threading.Event = field(default_factory=threading.Event)
    sockets: list[socket.socket] = field(default_factory=list)
    server: socket.socket = field(
        default_factory=lambda: socket.create_server(("127.0.0.1", 0), backlog=16)
    )

    @property
    def url(self) -> str:
        """The address of a client that sends here."""
        return f"http://127.0.0.1:{self.server.getsockname()[1]}"

    def run(self) -> None:
        """Accept until the server is shut down."""
        with suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                self.sockets.append(connection)
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            self.speak(connection)


@contextmanager
def listening(speak: Speak) -> Iterator[Listener]:
    """A listener; at the end its `stop` is set and every connection shut down."""
    listener = Listener(speak)
    thread = threading.Thread(target=listener.run, daemon=True)
    thread.start()
    try:
        yield listener
    finally:
        listener.stop.set()
        for each in (listener.server, *listener.sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        listener.server.close()
        thread.join()


def read_request(connection: socket.socket) -> tuple[str, bytes]:
    """The method and path, and the body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _more(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
    while len(body) < int(lines.get(b"content-length", b"0")):
        body += _more(connection)
    return " ".join(head.decode().split(" ")[:2]), body


def served_keys(operator: Operator) -> bytes:
    """A whole reply to `GET /v1/keys`."""
    aggregator = Aggregator(operator, FakeClock(START))
    keys = operator.sign_keys(aggregator.key_list)
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(keys), keys)


def device_of(url: str, operator: Operator, **changes: Any) -> Client:
    """A client with consent that sends to `url` through real sockets."""
    shipped = manifest_of(toml(), ingest=[url])
    arguments: dict[str, Any] = {
        "trust": operator.trust,
        "manifests": [operator.sign(shipped)],
        "state": ":memory:",
        "ceiling": Ceiling(2, 4, 8),
        "transport": HttpTransport(),
        "clock": FakeClock(START),
        "background": False,
    }
    client = Client(url, **(arguments | changes))
    client.consent("granted")
    return client


def _more(connection: socket.socket) -> bytes:
    data = connection.recv(65_536)
    if not data:
        raise ConnectionError("the request ended early")
    return data
