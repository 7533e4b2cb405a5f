"""`POST /v1/collections/{id}/reports` as a bare WSGI callable; all else is passed on.

In front of the web framework because that costs more than opening a report. Nothing here reads a
cookie, sends a CORS header, or keeps the address it limits by.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from deniable_aggregator.ingest.admission import Admission
from deniable_aggregator.ingest.limiter import network_prefix
from deniable_aggregator.ingest.stalls import Bodies
from deniable_aggregator.problem import Problem
from deniable_shared.problems import PROBLEM_MEDIA_TYPE
from deniable_shared.report import (
    ERRORS_MEDIA_TYPE,
    MAX_UPLOAD_BYTES,
    MEDIA_TYPE,
    encode_errors,
)

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from deniable_aggregator.service import Service

__all__ = ["UploadEndpoint"]

BEFORE, AFTER = "/v1/collections/", "/reports"
RELAY = "relay"

Headers = list[tuple[str, str]]

logger = logging.getLogger(__name__)


class UploadEndpoint:
    """Answers uploads to `service` itself and passes other requests to `application`."""

    def __init__(self, service: Service, application: WSGIApplication) -> None:
        self._service = service
        self._application = application
        self._metrics = service.metrics
        self._limited = not service.settings.trusted_proxy
        self._admission = Admission(service.settings.threads)
        self.bodies = Bodies(service.settings.body_seconds)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        collection = _collection(environ)
        if collection is None:
            address = environ.get("REMOTE_ADDR", "")
            environ["wsgi.input"] = self.bodies.guard(environ["wsgi.input"], address)
            return self._application(environ, start_response)
        begun = time.perf_counter()
        try:
            status, headers, body = self._admitted(collection, environ)
        except Problem as problem:
            status, headers, body = _refusal(problem)
        except Exception:
            logger.exception("an upload failed")
            status, headers, body = _refusal(Problem("internal", "the upload failed: try again"))
        self._metrics.uploads.labels(status[:3]).inc()
        self._metrics.upload_seconds.observe(time.perf_counter() - begun)
        headers.append(("Content-Length", str(len(body))))
        start_response(status, headers)
        return [body]

    def _admitted(self, collection: str, environ: WSGIEnvironment) -> tuple[str, Headers, bytes]:
        self._admission.enter()
        try:
            return self._upload(collection, environ)
        finally:
            self._admission.leave()

    def _upload(self, collection: str, environ: WSGIEnvironment) -> tuple[str, Headers, bytes]:
        _check_content_type(environ.get("CONTENT_TYPE", ""))
        length = _checked_length(environ.get("CONTENT_LENGTH", ""))
        address = environ.get("REMOTE_ADDR", "")
        credential = environ.get("HTTP_AUTHORIZATION")
        relay = credential is not None and self._is_relay(credential, collection)
        failed = self._service.ingest.upload(
            collection,
            self._read(environ, length, address),
            prefix=network_prefix(address) if self._limited else None,
            relay=relay,
            token_refused=credential is not None and not relay,
        )
        if not failed:
            return "200 OK", [], b""
        return "200 OK", [("Content-Type", ERRORS_MEDIA_TYPE)], encode_errors(failed)

    def _read(self, environ: WSGIEnvironment, length: int, address: str) -> bytes:
        body = self.bodies.read(environ["wsgi.input"], length, address)
        if len(body) != length:
            raise Problem(
                "invalid-message", f"the body has {len(body)} bytes, {length} were announced"
            )
        return body

    def _is_relay(self, credential: str, collection: str) -> bool:
        token = self._service.tokens.authenticate(credential)
        if token is None or token.role != RELAY:
            return False
        if token.collections is None:
            return True
        return token.identity.may_see(self._service.registry.get(collection).id)


def _collection(environ: WSGIEnvironment) -> str | None:
    """The collection an upload is for; None for any other request."""
    path: str = environ.get("PATH_INFO", "")
    if environ["REQUEST_METHOD"] != "POST" or not path.endswith(AFTER):
        return None
    name = path[len(BEFORE) : -len(AFTER)]
    return name if path.startswith(BEFORE) and name and "/" not in name else None


def _check_content_type(given: str) -> None:
    if given == MEDIA_TYPE:
        return
    if _normalized(given) != MEDIA_TYPE:
        raise Problem(
            "unsupported-media-type", f"Content-Type must be {MEDIA_TYPE}, got {given[:100]!r}"
        )


def _normalized(media_type: str) -> str:
    """Lower case, without spaces, parameters sorted."""
    kind, *parameters = media_type.lower().replace(" ", "").replace('"', "").split(";")
    return ";".join([kind, *sorted(parameters)])


def _checked_length(given: str) -> int:
    """The announced length, once it is known to be acceptable: nothing longer is ever read."""
    if not given:
        raise Problem("length-required", "the request must carry Content-Length, chunked or not")
    if not (given.isascii() and given.isdigit()):
        raise Problem("invalid-message", "Content-Length must be a decimal number")
    if len(given) > len(str(MAX_UPLOAD_BYTES)) or int(given) > MAX_UPLOAD_BYTES:
        raise Problem("too-large", f"an upload must be at most {MAX_UPLOAD_BYTES} bytes")
    return int(given)


def _refusal(problem: Problem) -> tuple[str, Headers, bytes]:
    headers = [("Content-Type", PROBLEM_MEDIA_TYPE), *problem.headers()]
    body = json.dumps(problem.document()).encode()
    return f"{problem.status} {HTTPStatus(problem.status).phrase}", headers, body
