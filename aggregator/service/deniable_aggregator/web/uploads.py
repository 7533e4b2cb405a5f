"""Uploads as a view, for WSGI servers. With ASGI `web.front` answers them on the event loop.

A thread calls the view and waits for the body and the commit. Put a buffering proxy in front of
such a server: without one, each body that never arrives blocks a thread.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from flask import Response, g, request

from deniable_aggregator.ingest.watch import outcome_of
from deniable_aggregator.web.application import service
from deniable_gateway.problem import Problem
from deniable_gateway.upload.gate import Arrival
from deniable_gateway.upload.paths import require_normal_path
from deniable_gateway.upload.request import require_whole
from deniable_shared.wire.report import ERRORS_MEDIA_TYPE, encode_errors

if TYPE_CHECKING:
    from flask import Flask

RULE = "/v1/collections/<collection>/reports"
ENDPOINT = "upload"
_RAW = ("RAW_URI", "REQUEST_URI")
"""Keys of the WSGI environment that hold the target as it was sent."""


def register(app: Flask) -> None:
    """Add the upload view, and refuse paths that are not normalized before routing."""
    app.before_request(_require_normal_path)
    app.add_url_rule(RULE, ENDPOINT, _view, methods=["POST"])
    app.after_request(_count)


def _require_normal_path() -> None:
    as_sent = next((request.environ[name] for name in _RAW if name in request.environ), "")
    path = str(request.environ.get("PATH_INFO", ""))
    g.operation = None
    require_normal_path(path, str(as_sent))
    g.operation = request.endpoint
    g.begun = time.perf_counter()


def _view(collection: str) -> Response:
    if request.environ["REQUEST_METHOD"] != "POST":  # Flask accepts "post", too
        raise Problem("method-not-allowed", "the method of an upload must be POST")
    with service().watch.span(collection) as span:
        body = _upload(collection)
        span.outcome = outcome_of(body)
    return Response(body, content_type=ERRORS_MEDIA_TYPE)


def _upload(collection: str) -> bytes:
    gate, environ = service().gate, request.environ
    length = gate.announced_length(
        environ.get("CONTENT_TYPE", ""), environ.get("CONTENT_LENGTH", "")
    )
    credential = environ.get("HTTP_AUTHORIZATION")
    relay = gate.is_relay(credential, collection)
    sender = gate.admit(environ.get("REMOTE_ADDR", ""), credential, relay=relay)
    body = require_whole(environ["wsgi.input"].read(length), length)
    return encode_errors(service().ingest.take_one(Arrival(collection, body, sender)))


def _count(response: Response) -> Response:
    if g.get("operation") == ENDPOINT and request.method == "POST":
        seconds = time.perf_counter() - g.begun
        service().watch.count_upload(response.status_code, seconds)
    return response
