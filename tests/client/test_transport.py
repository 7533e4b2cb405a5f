"""HTTP: one connection a request, nothing that tells devices apart, nothing followed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time

import httpx
import pytest

from deniable_client import HttpTransport, TransportError
from deniable_client.transport import USER_AGENT

URL = "https://telemetry.example.org/v1/keys"


def transport(answer: Callable[[httpx.Request], httpx.Response]) -> HttpTransport:
    return HttpTransport(httpx.MockTransport(answer))


def test_a_request_carries_only_what_all_devices_send_alike() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, headers={"Set-Cookie": "who=you; Path=/"})

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
def test_no_redirect_is_followed(status: int) -> None:
    urls: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        urls.append(str(request.url))
        return httpx.Response(status, headers={"Location": "https://elsewhere.example.org/"})

    assert transport(answer).request("POST", URL, body=b"x").status == status
    assert urls == [URL]


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("gone"),
        httpx.ConnectTimeout("slow"),
        OSError("no route"),
    ],
)
def test_every_failure_below_is_one_error_above(error: Exception) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error

    with pytest.raises(TransportError, match=type(error).__name__):
        transport(fail).request("GET", URL)


def test_an_answer_without_end_is_cut_off() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield bytes(65_536)

    with pytest.raises(TransportError):
        transport(lambda request: httpx.Response(200, content=endless())).request("GET", URL)


def test_an_answer_that_trickles_is_cut_off_at_the_time_out() -> None:
    def trickle() -> Iterator[bytes]:
        while True:
            yield b"."

    answer = transport(lambda request: httpx.Response(200, content=trickle()))
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
def test_retry_after_is_seconds_or_nothing(header: str) -> None:
    reply = transport(
        lambda request: httpx.Response(429, headers={b"Retry-After": header.encode()})
    ).request("GET", URL)
    assert reply.retry_after == RETRY_AFTER[header]


def test_retry_after_may_be_a_date() -> None:
    before = int(time())
    header = formatdate(before + 3600, usegmt=True)
    reply = transport(lambda request: httpx.Response(503, headers={"Retry-After": header})).request(
        "GET", URL
    )
    seconds = reply.retry_after
    assert seconds is not None
    assert before + 3600 - time() <= seconds <= 3600


@pytest.mark.parametrize("url", ["https://", "https://[::", "nonsense", "https://exa mple.org/"])
def test_an_address_that_is_none_is_a_transport_error(url: str) -> None:
    with pytest.raises(TransportError):
        HttpTransport().request("GET", url, timeout=0.1)


@pytest.fixture
def server() -> Iterator[tuple[str, list[tuple[str, int]]]]:
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
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}/", peers
        listening.shutdown()
        thread.join()


def test_every_request_has_a_connection_of_its_own(
    server: tuple[str, list[tuple[str, int]]],
) -> None:
    url, peers = server
    client = HttpTransport()
    for _ in range(3):
        assert client.request("POST", url, body=b"x").status == 200
    assert len(peers) == 3


def test_proxies_of_the_environment_are_not_asked(
    server: tuple[str, list[tuple[str, int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    url, _ = server
    assert HttpTransport().request("POST", url, body=b"x").status == 200


def test_a_port_nobody_listens_on_is_a_transport_error() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and nobody else can listen while it does not
        port = silent.getsockname()[1]
        with pytest.raises(TransportError, match="ConnectError"):
            HttpTransport().request("GET", f"http://127.0.0.1:{port}/", timeout=60.0)
