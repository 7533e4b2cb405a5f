"""A peer that drips blocks nothing: a limit is that of the whole exchange, and a denial cuts it.

Every listener here drips until the test ends. PATIENCE is for a busy machine alone.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from deniable_client import Client, HttpTransport, TransportError
from deniable_client._state.installation import LEASE_SECONDS
from deniable_client._uploading import timed_transport
from support.builders.client_world import SETTINGS, Device, Operator
from support.doubles.loopback_listener import (
    Listener,
    device_of,
    listening,
    read_request,
    served_keys,
)

PATIENCE = 60.0
PAUSE = 0.02
SHORT = 0.2
LONG = 600.0

Drip = Callable[[socket.socket, threading.Event], object]


def drip(data: bytes, *, first: bytes = b"") -> Drip:
    """Send `first`, then `data` again and again, slowly."""

    def speak(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(first)
        while not stop.wait(PAUSE):
            connection.sendall(data)

    return speak


def sip(connection: socket.socket, stop: threading.Event) -> None:
    """Take the request a byte at a time."""
    while not stop.wait(PAUSE):
        connection.recv(1)


OK = b"HTTP/1.1 200 OK\r\n"
DRIPS: dict[str, Drip] = {
    "nothing at all": lambda connection, stop: stop.wait(),
    "the status line": drip(b"1", first=b"HTTP/1.1 200 "),
    "header lines": drip(b"X-a: b\r\n", first=OK),
    "one header line": drip(b"b", first=OK + b"X-a: "),
    "replies before the reply": drip(b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "the body": drip(b".", first=OK + b"Content-Length: 90000\r\n\r\n"),
    "chunks": drip(b"1\r\n.\r\n", first=OK + b"Transfer-Encoding: chunked\r\n\r\n"),
    "the size of a chunk": drip(b"0", first=OK + b"Transfer-Encoding: chunked\r\n\r\n"),
    "the request": sip,
}


@contextmanager
def dripping(speak: Drip) -> Iterator[Listener]:
    """A listener that does nothing but this."""
    with listening(lambda connection: speak(connection, listener.stop)) as listener:
        yield listener


def must_end(act: Callable[[], object]) -> None:
    """Raises what it raises; fails unless it ends in time for a busy machine."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    if raised:
        raise raised[0]


def must_time_out(url: str, body: bytes = b"", *, seconds: float = SHORT) -> None:
    with pytest.raises(TransportError, match="Timeout"):
        must_end(lambda: HttpTransport().request("POST", url, body=body, timeout=seconds))


@pytest.mark.slow
@pytest.mark.usefixtures("sockets")
@pytest.mark.parametrize("what", DRIPS)
def test_a_request_ends_at_its_time_limit_whatever_drips(what: str) -> None:
    body = bytes(1 << 26) if what == "the request" else b""  # more than any buffer takes
    with dripping(DRIPS[what]) as listener:
        must_time_out(listener.url, body)


@pytest.mark.slow
@pytest.mark.usefixtures("sockets")
def test_a_request_ends_at_its_time_limit_while_a_handshake_drips() -> None:
    with dripping(drip(b"\0", first=b"\x16\x03\x03\x3f\xff\x02")) as listener:
        must_time_out(listener.url.replace("http:", "https:"))


@pytest.mark.slow
def test_a_request_ends_at_its_time_limit_while_a_name_is_looked_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answered = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: answered.wait(LONG) and [])
    must_time_out("http://telemetry.example.org/")
    answered.set()


@pytest.mark.slow
@pytest.mark.usefixtures("sockets")
def test_an_address_that_refuses_leaves_the_next_one_a_try(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo
    with socket.socket() as closed, dripping(drip(b"", first=OK + b"\r\n")) as listener:
        closed.bind(("127.0.0.1", 0))
        ports = [closed.getsockname()[1], listener.server.getsockname()[1]]
        addresses = [
            each for port in ports for each in real("127.0.0.1", port, type=socket.SOCK_STREAM)
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: addresses)
        must_time_out("http://telemetry.example.org/", seconds=0.5)
        assert listener.sockets != []


def test_no_request_takes_half_as_long_as_the_lease() -> None:
    assert timed_transport._LONGEST_REQUEST < LEASE_SECONDS / 2


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], tuple[Client, threading.Event]]]:
    """A client with a report, and an event set once a request of its hangs at a dripping reply.

    The key list comes at once, uploads and manifests drip. Only a cut ends such a request: its
    own time limit is far away.
    """
    monkeypatch.setattr(timed_transport, "_LONGEST_REQUEST", LONG)
    operator, hangs = Operator(), threading.Event()
    keys = served_keys(operator)

    def speak(connection: socket.socket, stop: threading.Event) -> None:
        request_line, _ = read_request(connection)
        if request_line == "GET /v1/keys":
            connection.sendall(keys)
        else:
            hangs.set()
            drip(b"X-a: b\r\n", first=OK)(connection, stop)

    with dripping(speak) as listener:

        def make() -> tuple[Client, threading.Event]:
            client = device_of(listener.url, operator)
            client.record("settings", SETTINGS)
            return client, hangs

        yield make


Held = Callable[[], tuple[Client, threading.Event]]


@pytest.mark.slow
def test_a_flush_ends_at_its_time_limit(held: Held) -> None:
    client, hangs = held()
    must_end(lambda: client.flush(timeout=1.0, early=True))
    assert hangs.is_set()
    assert client.flush(timeout=0.0).waiting == 1


ENDS: dict[str, Callable[[Client], object]] = {
    "denied": lambda client: client.consent("denied"),
    "closed": lambda client: client.close(),
    "forgotten": lambda client: client.forget(),
}
ACTS: dict[str, Callable[[Client], object]] = {
    "an upload": lambda client: client.flush(timeout=LONG, early=True),
    "a refresh": lambda client: client.refresh(timeout=LONG),
}


@pytest.mark.usefixtures("sockets")
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("act", ACTS)
def test_denying_and_closing_cut_a_request_off(held: Held, act: str, end: str) -> None:
    client, hangs = held()
    running = threading.Thread(target=ACTS[act], args=(client,), daemon=True)
    running.start()
    assert hangs.wait(PATIENCE)
    must_end(lambda: ENDS[end](client))
    running.join(PATIENCE)
    assert not running.is_alive()


def test_a_request_begun_while_consent_is_denied_is_not_sent(device: Device) -> None:
    """Between being asked for and being permitted: the denial comes first, or it cuts."""
    client = device.granted()
    client.record("settings", SETTINGS)
    permit = client._uploader._permit

    def deny_after() -> None:
        permit()
        client.consent("denied")

    client._uploader._permit = deny_after  # type: ignore[method-assign]  # the test replaces it
    client.flush(early=True)
    assert device.transport.requests == []
