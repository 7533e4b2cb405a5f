"""Runs Flask behind the event loop, on a few threads, with complete bodies.

Estimates and releases take long, so they have threads of their own. So do passwords, which are
expensive to check, and the provider, which may not answer. Probes never wait for them, and
`/healthz` for no thread at all.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import TYPE_CHECKING, Any

from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect
from werkzeug.test import run_wsgi_app

from deniable_aggregator.web.api.operations import MAX_JSON_BYTES, operation_of
from deniable_aggregator.web.auth.provider import REDEEMED_AT_ONCE
from deniable_aggregator.web.auth.throttle import AT_ONCE

if TYPE_CHECKING:
    from flask import Flask

    from deniable_gateway.upload.front import Scope
    from deniable_gateway.upload.request import Reply

THREADS = {
    "probes": 2,
    "quick": 4,
    "passwords": AT_ONCE + 1,
    "provider": REDEEMED_AT_ONCE + 1,
    "long": 4,
}
PLACES = {
    "health.healthz": "probes",
    "health.readyz": "probes",
    "metrics.metrics": "probes",
    "dashboard.static": "quick",
}
PLACES_OF_BLUEPRINTS = {
    **dict.fromkeys(("audit", "collections", "description", "keys", "log"), "quick"),
    **dict.fromkeys(("tokens", "users", "vouchers"), "quick"),
    "signin": "passwords",
    "oidc": "provider",
}
"""All other views calculate and take long. A request without a view is quick."""

ALIVE = "health.healthz"
"""Its answer to GET never changes, so Flask makes it once. It says that the event loop runs."""

Count = Callable[[str, int], None]

_NAMES = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


class FlaskThreads:
    """See `deniable_gateway.upload.front.Others`."""

    def __init__(self, app: Flask, *, count: Count) -> None:
        """`count` gets the view and the status of each answer that Flask does not make."""
        self._app = app
        self._count = count
        self._alive: Reply | None = None
        self._wsgi = app.wsgi_app
        self._routes = app.url_map.bind("")
        self._pools = {
            kind: ThreadPoolExecutor(number, thread_name_prefix=kind)
            for kind, number in THREADS.items()
        }

    def body_limit(self, method: str, path: str) -> int:
        """Bytes that a body may have: the operation's limit, or that of JSON and forms."""
        endpoint = self._endpoint(method, path)
        declared = operation_of(self._app.view_functions.get(endpoint or ""))
        return MAX_JSON_BYTES if declared is None else declared.max_body

    async def answer(self, scope: Scope, body: bytes) -> Reply:
        """Flask's complete answer, computed on a thread of the right kind."""
        endpoint = self._endpoint(scope["method"], scope["path"])
        if endpoint == ALIVE and scope["method"] == "GET":
            return self._answer_alive(scope)
        pool = self._pools[_place(endpoint)]
        environ = environ_of(scope, body)
        return await asyncio.get_running_loop().run_in_executor(pool, self._call, environ)

    def _answer_alive(self, scope: Scope) -> Reply:
        if self._alive is None:
            self._alive = self._call(environ_of(scope, b""))
        else:
            self._count(ALIVE, self._alive[0])
        return self._alive

    def _call(self, environ: dict[str, Any]) -> Reply:
        chunks, status, headers = run_wsgi_app(self._wsgi, environ)
        try:
            return int(status[:3]), list(headers), b"".join(chunks)
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()

    def _endpoint(self, method: str, path: str) -> str | None:
        try:
            endpoint, _ = self._routes.match(path, method)
        except (HTTPException, RequestRedirect):
            return None
        return str(endpoint)


def _place(endpoint: str | None) -> str:
    if endpoint is None:
        return "quick"
    blueprint = endpoint.partition(".")[0]
    return PLACES.get(endpoint) or PLACES_OF_BLUEPRINTS.get(blueprint, "long")


def environ_of(scope: Scope, body: bytes) -> dict[str, Any]:
    """The WSGI environment of a request with its complete body."""
    host, port = scope.get("server") or ("localhost", 80)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode().decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "REMOTE_ADDR": (scope.get("client") or ("",))[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        _add_field(environ, name.decode("latin-1"), value.decode("latin-1"))
    return environ


def _add_field(environ: dict[str, Any], name: str, value: str) -> None:
    """Add one header field; a second one of the same name is appended."""
    if "_" in name:  # WSGI would take it for the name with hyphens
        return
    key = _NAMES.get(name) or f"HTTP_{name.upper().replace('-', '_')}"
    before = environ.get(key)
    separator = "; " if name == "cookie" else ","
    environ[key] = value if before is None else f"{before}{separator}{value}"
