"""A proxy that breaks what goes through it, one request a connection.

PASS           nothing is broken
DROP_REQUEST   the request never arrives
CUT_REQUEST    half of it does
DELAY          the reply comes late
CUT_REPLY      half of the reply comes back
DROP_REPLY     the request is done and there is no reply
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto

__all__ = ["Fault", "FaultProxy", "Tap", "proxied", "tapped"]

PATIENCE_SECONDS = 60.0
DELAY_SECONDS = 0.05
PIECE = 65_536


class Fault(Enum):
    PASS = auto()
    DROP_REQUEST = auto()
    CUT_REQUEST = auto()
    DELAY = auto()
    CUT_REPLY = auto()
    DROP_REPLY = auto()


REFUSED_BEFORE = (Fault.DROP_REQUEST, Fault.CUT_REQUEST)


@dataclass
class FaultProxy:
    """Listens until it is closed; `choose` says for each connection what breaks."""

    target: tuple[str, int]
    choose: Callable[[], Fault]
    listening: socket.socket = field(
        default_factory=lambda: socket.create_server(("127.0.0.1", 0), backlog=256)
    )
    stopped: threading.Event = field(default_factory=threading.Event)
    met: list[Fault] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    def start(self) -> None:
        self._spawn(self._accept)

    def close(self) -> None:
        """Return once nothing goes through any more."""
        self.stopped.set()
        self.listening.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self.listening.close()

    def _spawn(self, act: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=act, args=arguments, daemon=True)
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self.stopped.is_set():
                self._spawn(self._serve, self.listening.accept()[0])

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(PATIENCE_SECONDS)
            request = message(client)
            if request:
                fault = self.choose()
                self.met.append(fault)
                client.sendall(self._reply(request, fault))

    def _reply(self, request: bytes, fault: Fault) -> bytes:
        """What comes back to the client."""
        if fault is Fault.DROP_REQUEST:
            return b""
        with socket.create_connection(self.target, timeout=PATIENCE_SECONDS) as service:
            if fault is Fault.CUT_REQUEST:
                service.sendall(request[: len(request) // 2])
                return b""
            service.sendall(request)
            reply = message(service)
        if fault is Fault.DELAY:
            self.stopped.wait(DELAY_SECONDS)
        kept = {Fault.DROP_REPLY: 0, Fault.CUT_REPLY: len(reply) // 2}.get(fault, len(reply))
        return reply[:kept]


@dataclass
class Tap(FaultProxy):
    """Notes every request that goes through; a client may send many on one connection."""

    requests: list[bytes] = field(default_factory=list)
    _clients: list[socket.socket] = field(default_factory=list)

    def close(self) -> None:
        """Cut off all open connections."""
        for client in self._clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        super().close()

    def _serve(self, client: socket.socket) -> None:
        self._clients.append(client)
        with client, suppress(OSError):
            client.settimeout(PATIENCE_SECONDS)
            while request := message(client):
                self.requests.append(request)
                client.sendall(self._reply(request, Fault.PASS))


def message(connection: socket.socket) -> bytes:
    """One request or reply, head and body; less if the other side ends it early."""
    received = b""
    while not complete(received):
        data = connection.recv(PIECE)
        if not data:
            break
        received += data
    return received


def complete(received: bytes) -> bool:
    head, end, body = received.partition(b"\r\n\r\n")
    lines = (line.partition(b":") for line in head.lower().split(b"\r\n")[1:])
    length = next((int(value) for name, _, value in lines if name == b"content-length"), 0)
    return bool(end) and len(body) >= length


@contextmanager
def proxied(target: tuple[str, int], choose: Callable[[], Fault]) -> Iterator[FaultProxy]:
    """Running while the block does."""
    proxy = FaultProxy(target, choose)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.close()


@contextmanager
def tapped(target: tuple[str, int]) -> Iterator[Tap]:
    """Breaks nothing."""
    tap = Tap(target, lambda: Fault.PASS)
    tap.start()
    try:
        yield tap
    finally:
        tap.close()
