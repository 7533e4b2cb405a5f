"""HTTP: one connection a request, nothing that distinguishes devices, nothing followed."""

from __future__ import annotations

import importlib
import socket
import threading
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time
from types import ModuleType
from typing import Any

import pytest

from deniable_client import HttpTransport, TransportError
from deniable_client import sockets as sockets_module
from deniable_client._uploading.timed_transport import TimedTransport
from deniable_client.calls import Call, Calls
from deniable_client.errors import HaltedError
from deniable_client.testing import RecordingTransport
from deniable_client.transport import USER_AGENT
from support.doubles.http_libraries import LIBRARIES
from support.doubles.loopback_listener import listening

Transporting = Callable[..., HttpTransport]
URL = "https://telemetry.example.org/v1/keys"


@pytest.fixture(params=LIBRARIES)
def http(request: pytest.FixtureRequest) -> Any:
    """The library of a transport that is given: either, whichever the sockets are of."""
    return importlib.import_module(request.param)


@pytest.fixture
def transport(http: Any) -> Transporting:
    return lambda answer: HttpTransport(http.MockTransport(answer))


def test_a_request_carries_only_what_all_devices_send_alike(
    http: Any, transport: Transporting
) -> None:
    seen: list[Any] = []

    def answer(request: Any) -> object:
        seen.append(request)
        return http.Response(200, headers={"Set-Cookie": "who=you; Path=/"})

    client = transport(answer)
    for _ in range(2):
        client.request("POST", URL, body=b"sealed", content_type="application/x")
    assert dict(seen[1].headers) == {
        "host": "telemetry.example.org",
        "user-agent": USER_AGENT,
        "accept": "*/*",
        "connection": "close",
        "content-type": "application/x",
        "content-length": "6",
    }
    assert seen[0].headers == seen[1].headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(http: Any, transport: Transporting, status: int) -> None:
    urls: list[str] = []

    def answer(request: Any) -> object:
        urls.append(str(request.url))
        return http.Response(status, headers={"Location": "https://elsewhere.example.org/"})

    assert transport(answer).request("POST", URL, body=b"x").status == status
    assert urls == [URL]


@pytest.mark.parametrize(
    "error", ["ConnectError", "ReadTimeout", "RemoteProtocolError", "ConnectTimeout", "OSError"]
)
def test_every_failure_below_is_one_error_above(
    http: Any, transport: Transporting, error: str
) -> None:
    def fail(request: object) -> object:
        raise getattr(http, error, OSError)("no route")

    with pytest.raises(TransportError, match=rf"GET {URL}: {error} \(no route\)"):
        transport(fail).request("GET", URL)


def test_an_answer_without_end_is_cut_off(http: Any, transport: Transporting) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield bytes(65_536)

    with pytest.raises(TransportError):
        transport(lambda request: http.Response(200, content=endless())).request("GET", URL)


def test_an_answer_that_trickles_is_cut_off_at_the_time_out(
    http: Any, transport: Transporting
) -> None:
    def trickle() -> Iterator[bytes]:
        while True:
            yield b"."

    answer = transport(lambda request: http.Response(200, content=trickle()))
    with pytest.raises(TransportError):
        answer.request("GET", URL, timeout=0.01)


RETRY_AFTER = {
    "0": 0.0,
    "120": 120.0,
    "999999999999": 999_999_999.0,
    "-5": None,
    "1.5": None,
    "soon": None,
    "²": None,
    "Mon, 99 Foo 2020": None,
    "Wed, 21 Oct 2015 07:28:00 GMT": 0.0,
}


@pytest.mark.parametrize("header", RETRY_AFTER)
def test_retry_after_is_seconds_or_nothing(http: Any, transport: Transporting, header: str) -> None:
    reply = transport(
        lambda request: http.Response(429, headers={b"Retry-After": header.encode()})
    ).request("GET", URL)
    assert reply.retry_after == RETRY_AFTER[header]


def test_retry_after_may_be_a_date(http: Any, transport: Transporting) -> None:
    before = int(time())
    header = formatdate(before + 3600, usegmt=True)
    reply = transport(lambda request: http.Response(503, headers={"Retry-After": header})).request(
        "GET", URL
    )
    seconds = reply.retry_after
    assert seconds is not None
    assert before + 3600 - time() <= seconds <= 3600


@pytest.mark.usefixtures("sockets")
@pytest.mark.parametrize("url", ["https://", "https://[::", "nonsense", "https://exa mple.org/"])
def test_an_address_that_is_none_is_a_transport_error(url: str) -> None:
    with pytest.raises(TransportError):
        HttpTransport().request("GET", url, timeout=0.1)


@pytest.fixture
def listener() -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """A real server that offers to keep connections, and the peer of each one it had."""
    peers: list[tuple[str, int]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            peers.append(self.client_address)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.send_header("Connection", "keep-alive")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}/", peers
        listening.shutdown()
        thread.join()


@pytest.mark.usefixtures("sockets")
def test_every_request_has_a_connection_of_its_own(
    listener: tuple[str, list[tuple[str, int]]],
) -> None:
    url, peers = listener
    client = HttpTransport()
    for _ in range(3):
        assert client.request("POST", url, body=b"x").status == 200
    assert len(peers) == 3


@pytest.mark.usefixtures("sockets")
def test_proxies_of_the_environment_are_not_asked(
    listener: tuple[str, list[tuple[str, int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    url, _ = listener
    assert HttpTransport().request("POST", url, body=b"x").status == 200


@pytest.mark.usefixtures("sockets")
def test_a_port_nobody_listens_on_is_a_transport_error() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and no other socket can listen there meanwhile
        port = silent.getsockname()[1]
        with pytest.raises(TransportError, match="ConnectError"):
            HttpTransport().request("GET", f"http://127.0.0.1:{port}/", timeout=60.0)


@pytest.mark.usefixtures("sockets")
def test_the_bytes_of_a_request_do_not_show_which_library_sends_them() -> None:
    """Devices look alike with all other packages of the app."""
    seen: list[bytes] = []

    def speak(connection: socket.socket) -> None:
        seen.append(b"")
        while not seen[0].endswith(b"sealed"):
            seen[0] += connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    with listening(speak) as listener:
        url = listener.url
        reply = HttpTransport().request(
            "POST", f"{url}/v1/keys", body=b"sealed", content_type="a/b", timeout=60.0
        )
    assert reply.status == 204
    lines = (
        "POST /v1/keys HTTP/1.1",
        f"Host: {url.removeprefix('http://')}",
        "User-Agent: deniable/1",
        "Accept: */*",
        "Connection: close",
        "Content-Type: a/b",
        "Content-Length: 6",
    )
    assert seen == ["\r\n".join([*lines, "", "sealed"]).encode()]


AUTHORITIES = {
    "http://127.0.0.1:8000/v1/keys": "127.0.0.1:8000",
    "http://localhost:80/": "localhost",
    "https://telemetry.example.org": "telemetry.example.org",
    "https://telemetry.example.org:443/": "telemetry.example.org",
    "https://telemetry.example.org:80/": "telemetry.example.org:80",
    "https://[2001:db8::1]/": "[2001:db8::1]",
    "http://[::1]:8000/": "[::1]:8000",
}


@pytest.mark.parametrize("url", AUTHORITIES)
def test_the_host_field_is_that_of_httpx(http: Any, url: str, sockets: ModuleType) -> None:
    assert sockets._authority(sockets.httpcore.URL(url)) == AUTHORITIES[url]
    assert http.Request("GET", url).headers["Host"] == AUTHORITIES[url]


@pytest.mark.usefixtures("sockets")
def test_a_field_that_is_repeated_is_one_list() -> None:
    def speak(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 204 No Content\r\nDate: a\r\nX-It: b\r\nx-it: c\r\n\r\n")

    with listening(speak) as listener:
        reply = HttpTransport().request("GET", listener.url, timeout=60.0)
    assert reply.headers == {"date": "a", "x-it": "b, c"}


def test_a_host_is_looked_up_without_a_thread_where_none_can_be_started(
    listener: tuple[str, list[tuple[str, int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "deniable-resolve":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    url, peers = listener
    assert HttpTransport().request("POST", url, body=b"x").status == 200
    assert len(peers) == 1


class OutOfTime(Call):
    """A call whose time is over at its first wait."""

    def left(self) -> float:
        return 0.0


def test_a_name_server_that_does_not_answer_is_a_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()
    monkeypatch.setattr("socket.getaddrinfo", lambda *arguments, **named: answers.wait() and [])
    with pytest.raises(TimeoutError, match="the name server did not answer"):
        sockets_module._addresses("nowhere.example", 80, OutOfTime(0))
    answers.set()


def test_a_closed_client_begins_no_request() -> None:
    calls, inner = Calls(), RecordingTransport()
    calls.close()
    transport = TimedTransport(inner, calls, permit=lambda: None, seconds=10)
    with pytest.raises(HaltedError, match="the client was closed"):
        transport.get("https://telemetry.example.org/")
    assert inner.requests == []


def test_a_request_is_not_begun_after_the_time_limit() -> None:
    inner = RecordingTransport()
    transport = TimedTransport(inner, Calls(), permit=lambda: None, seconds=0)
    with pytest.raises(HaltedError, match="the time limit is over"):
        transport.get("https://telemetry.example.org/")
    assert inner.requests == []


def test_a_request_that_is_cut_off_before_it_leaves_is_not_sent() -> None:
    calls, inner = Calls(), RecordingTransport()
    transport = TimedTransport(inner, calls, permit=calls.cut, seconds=10)
    with pytest.raises(TransportError, match="the request was cut off"):
        transport.get("https://telemetry.example.org/")
    assert inner.requests == []
