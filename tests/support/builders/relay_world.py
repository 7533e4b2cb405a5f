"""A relay in front of a service, and a record of every request that it forwards."""

from __future__ import annotations

import io
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import httpx

from deniable_gateway.relay.asgi import MIRROR_SECONDS, Relay
from deniable_gateway.relay.forwarder import UpstreamReply
from deniable_gateway.relay.options import RelayOptions
from deniable_gateway.relay.upstream import Send
from deniable_shared.wire.problems import ReportError
from deniable_shared.wire.report import (
    MEDIA_TYPE,
    Report,
    decode_errors,
    decode_upload,
    encode_upload,
)
from support.builders import api_world
from support.builders.data_directory import Moment
from support.doubles.asgi_as_wsgi import as_wsgi

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["BATCH", "Answer", "RelayWorld", "Request", "Wiretap", "opened", "sender_to", "tell"]

BATCH = 5
DEVICE = "198.51.100.7"


@dataclass(frozen=True)
class Request:
    """One request as the service's network sees it."""

    at: float
    method: str
    path: str
    query: str
    address: str
    headers: dict[str, str]
    body: bytes

    @property
    def reports(self) -> list[Report]:
        return decode_upload(self.body)


@dataclass
class Wiretap:
    """Passes requests to the service, or refuses them with `outage`, and notes them."""

    inner: WSGIApplication
    clock: Moment
    requests: list[Request] = field(default_factory=list)
    outage: tuple[str, list[tuple[str, str]]] | None = None
    let_through: int = 0

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        body = environ["wsgi.input"].read()
        environ["wsgi.input"] = io.BytesIO(body)
        headers = {name[5:]: value for name, value in environ.items() if name.startswith("HTTP_")}
        self.requests.append(
            Request(
                self.clock(),
                *(environ["REQUEST_METHOD"], environ["PATH_INFO"], environ["QUERY_STRING"]),
                *(environ.get("REMOTE_ADDR", ""), headers, body),
            )
        )
        if self.outage is not None and environ["REQUEST_METHOD"] == "POST":
            if self.let_through <= 0:
                start_response(*self.outage)
                return [b""]
            self.let_through -= 1
        return self.inner(environ, start_response)

    @property
    def posts(self) -> list[Request]:
        return [request for request in self.requests if request.method == "POST"]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def codes(self) -> list[ReportError]:
        assert self.status == 200
        return [ReportError(status.error) for status in decode_errors(self.body)]


@dataclass
class RelayWorld:
    """One relay in `folder`/relay, with a valid token, over a service of `api_world`."""

    aggregator: api_world.World
    wiretap: Wiretap
    options: RelayOptions
    running: Relay

    @property
    def clock(self) -> Moment:
        return self.aggregator.clock

    def tick(self, seconds: float = 0.0) -> None:
        self.clock.now += seconds
        self.running.tick()

    def renew(self) -> None:
        """Tick after the copy of what the service publishes has become old."""
        self.tick(MIRROR_SECONDS)

    def restart(self) -> None:
        self.running.close()
        self.running = Relay(self.options, clock=self.clock, send=sender_to(self.wiretap))

    def upload(self, collection: str, *reports: Report) -> Answer:
        return tell(
            self.running.app,
            "POST",
            f"/v1/collections/{collection}/reports",
            body=encode_upload(reports),
            address=DEVICE,
        )

    def get(self, path: str, query: str = "") -> Answer:
        return tell(self.running.app, "GET", path, query=query)

    def n(self, collection: str, epoch: int | None = None) -> int:
        """Reports that the service has counted."""
        rows = self.aggregator.running.store.epochs(collection)
        return sum(row.n for row in rows if epoch in (None, row.epoch))


def tell(
    app: Any,
    method: str,
    path: str,
    *,
    query: str = "",
    body: bytes = b"",
    address: str = DEVICE,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Answer:
    """One request to an application, with all a device's request could give away."""
    said: list[Any] = []
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": MEDIA_TYPE if body else "",
        "CONTENT_LENGTH": str(len(body)),
        "REMOTE_ADDR": address,
        "HTTP_USER_AGENT": "an app on somebody's phone",
        "HTTP_COOKIE": "who=me",
        "HTTP_X_FORWARDED_FOR": address,
        "wsgi.input": io.BytesIO(body),
        **{f"HTTP_{name.upper()}": value for name, value in headers.items()},
    }
    answer = b"".join(as_wsgi(app)(environ, lambda *started: said.extend(started)))
    return Answer(int(said[0].split()[0]), dict(said[1]), answer)


def sender_to(app: WSGIApplication) -> Send:
    """The requests of a relay as calls of an application, with no header of the test's own."""
    client = httpx.Client(transport=httpx.WSGITransport(app=as_wsgi(app)))

    def send(request: urllib.request.Request) -> UpstreamReply:
        content = cast("bytes | None", request.data)
        made = client.build_request(request.get_method(), request.full_url, content=content)
        host = [each for each in made.headers.items() if each[0] in ("host", "content-length")]
        made.headers = httpx.Headers([*host, *request.header_items()])
        reply = client.send(made)
        return UpstreamReply(reply.status_code, reply.content, dict(reply.headers))

    return send


@contextmanager
def opened(folder: Path, **changed: Any) -> Iterator[RelayWorld]:
    """A relay that has fetched what the service publishes."""
    with api_world.opened(folder) as aggregator:
        token = folder / "relay.token"
        token.write_text(aggregator.tokens["relay"] + "\n")
        (folder / "relay").mkdir()
        given: dict[str, Any] = {
            "to": "https://telemetry.example.org",
            "token_file": str(token),
            "data": str(folder / "relay"),
            "batch": BATCH,
            "reports_per_minute": 600_000,
        }
        options = RelayOptions(**{**given, **changed})
        wiretap = Wiretap(aggregator.app, aggregator.clock)
        relay = Relay(options, clock=aggregator.clock, send=sender_to(wiretap))
        world = RelayWorld(aggregator, wiretap, options, relay)
        try:
            yield world
        finally:
            world.running.close()
