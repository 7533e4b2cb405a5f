"""An ASGI application as a WSGI callable, so that one test covers both entry points."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from deniable_aggregator.web.front import front_of
from deniable_gateway.upload.front import Front
from deniable_gateway.upload.request import upload_collection

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

    from flask import Flask

LONG = 120.0
_NAMES = {"CONTENT_TYPE": b"content-type", "CONTENT_LENGTH": b"content-length"}

Message = dict[str, Any]
Asgi = Callable[[Any, Any, Any], Awaitable[None]]


@cache
def loop() -> asyncio.AbstractEventLoop:
    """One event loop for all, in a thread of its own, until the tests end."""
    made = asyncio.new_event_loop()
    threading.Thread(target=made.run_forever, name="asgi", daemon=True).start()
    return made


class AsgiAsWsgi:
    """Waits for the whole answer, and writes the names of its header fields as is usual.

    The body is read when the application asks for it.
    """

    def __init__(self, application: Asgi) -> None:
        self.application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        sent: list[Message] = []

        async def receive() -> Message:
            length = int(environ.get("CONTENT_LENGTH") or 0)
            return {"type": "http.request", "body": environ["wsgi.input"].read(length)}

        async def send(message: Message) -> None:
            sent.append(message)

        asking = self.application(scope_of(environ), receive, send)
        asyncio.run_coroutine_threadsafe(_whole(asking), loop()).result(LONG)
        start, *pieces = sent
        fields = [(name.decode().title(), value.decode()) for name, value in start["headers"]]
        status = HTTPStatus(start["status"])
        start_response(f"{status.value} {status.phrase}", fields)
        return [b"".join(piece.get("body", b"") for piece in pieces)]


async def _whole(asking: Awaitable[None]) -> None:
    await asking


def scope_of(environ: WSGIEnvironment) -> Message:
    """The scope that an ASGI server would give for the same request."""
    headers = [(_NAMES[name], environ[name].encode()) for name in _NAMES if environ.get(name)]
    headers += [
        (name[5:].lower().replace("_", "-").encode(), value.encode("latin-1"))
        for name, value in environ.items()
        if name.startswith("HTTP_")
    ]
    return {
        "type": "http",
        "http_version": "1.1",
        "method": environ["REQUEST_METHOD"],
        "scheme": environ.get("wsgi.url_scheme", "http"),
        "path": environ.get("PATH_INFO", "").encode("latin-1").decode(),
        "raw_path": environ.get("RAW_URI", "").partition("?")[0].encode(),
        "query_string": environ.get("QUERY_STRING", "").encode(),
        "headers": headers,
        "client": (environ.get("REMOTE_ADDR", ""), 1),
        "server": (environ.get("SERVER_NAME", "localhost"), int(environ.get("SERVER_PORT", 80))),
    }


def as_wsgi(application: Any) -> Any:
    """The application itself, if it is one of WSGI."""
    return AsgiAsWsgi(application) if isinstance(application, Front) else application


def with_front(app: Flask) -> Flask:
    """The same application, its uploads answered by the front that workers have.

    Most tests upload nothing: the front is made for the first upload.
    """
    flask, fronts = app.wsgi_app, list[AsgiAsWsgi]()

    def wsgi_app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if upload_collection(environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")) is None:
            return flask(environ, start_response)
        if not fronts:
            fronts.append(AsgiAsWsgi(front_of(app)))
        return fronts[0](environ, start_response)

    app.wsgi_app = wsgi_app  # type: ignore[method-assign]  # Flask says so: the way to wrap an application
    return app
