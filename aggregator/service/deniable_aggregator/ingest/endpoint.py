"""`POST /v1/collections/{id}/reports` as a bare WSGI callable; all else is passed on.

In front of the web framework because that costs more than opening a report. Nothing here reads a
cookie, sends a CORS header, or keeps the address it limits by.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from deniable_aggregator.base.roles import RELAY
from deniable_gateway.problem import Problem
from deniable_gateway.upload.admission import Admission
from deniable_gateway.upload.limiter import network_prefix
from deniable_gateway.upload.paths import require_normal_path
from deniable_gateway.upload.request import (
    Headers,
    content_length,
    problem_response,
    read_body,
    upload_collection,
)
from deniable_gateway.upload.slow_body_guard import BODY_SECONDS, SlowBodyGuard
from deniable_shared.wire.report import ERRORS_MEDIA_TYPE, encode_errors

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from deniable_aggregator.access.tokens import Tokens
    from deniable_aggregator.base.settings import Settings
    from deniable_aggregator.ingest import Ingest, Observers
    from deniable_gateway.suspension import Suspension

logger = logging.getLogger(__name__)


class UploadEndpoint:
    """Answers uploads itself and passes other requests to `application`."""

    def __init__(
        self,
        application: WSGIApplication,
        settings: Settings,
        *,
        ingest: Ingest,
        tokens: Tokens,
        suspension: Suspension,
        observers: Observers,
    ) -> None:
        self._application = application
        self._ingest = ingest
        self._registry = ingest.registry
        self._tokens = tokens
        self._suspension = suspension
        self._metrics = observers.metrics
        self._tracer = observers.tracer
        self._limited = not settings.trusted_proxy
        self._admission = Admission(settings.threads)
        self.body_guard = SlowBodyGuard(BODY_SECONDS)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            require_normal_path(environ)
        except Problem as problem:
            return self._reject_path(problem, start_response)
        collection = upload_collection(environ)
        if collection is None:
            address = environ.get("REMOTE_ADDR", "")
            environ["wsgi.input"] = self.body_guard.watch(environ["wsgi.input"], address)
            return self._application(environ, start_response)
        begun = time.perf_counter()
        try:
            status, headers, body = self._trace_upload(collection, environ)
        except Problem as problem:
            status, headers, body = problem_response(problem)
        except Exception:
            logger.exception("an upload failed")
            status, headers, body = problem_response(
                Problem("internal", "the upload failed: try again")
            )
        self._metrics.count_upload(status[:3], time.perf_counter() - begun)
        return _respond((status, headers, body), start_response)

    def _reject_path(self, problem: Problem, start_response: StartResponse) -> Iterable[bytes]:
        self._metrics.count_request(None, problem.status)
        return _respond(problem_response(problem), start_response)

    def _trace_upload(
        self, collection: str, environ: WSGIEnvironment
    ) -> tuple[str, Headers, bytes]:
        """The span names a registered collection: what a stranger made up is not repeated."""
        with self._tracer.span("upload") as span:
            registered = self._registry.lookup(collection)
            span.collection = None if registered is None else registered.id
            status, headers, errors = self._admit(collection, environ)
            span.outcome = "turned-away" if errors else "accepted"
            return status, headers, errors

    def _admit(self, collection: str, environ: WSGIEnvironment) -> tuple[str, Headers, bytes]:
        self._suspension.require_none()
        self._admission.enter()
        try:
            return self._upload(collection, environ)
        finally:
            self._admission.leave()

    def _upload(self, collection: str, environ: WSGIEnvironment) -> tuple[str, Headers, bytes]:
        length = content_length(environ)
        address = environ.get("REMOTE_ADDR", "")
        credential = environ.get("HTTP_AUTHORIZATION")
        relay = credential is not None and self._is_relay(credential, collection)
        failed = self._ingest.upload(
            collection,
            read_body(environ, length, self.body_guard),
            prefix=network_prefix(address) if self._limited else None,
            relay=relay,
            token_refused=credential is not None and not relay,
        )
        return "200 OK", [("Content-Type", ERRORS_MEDIA_TYPE)], encode_errors(failed)

    def _is_relay(self, credential: str, collection: str) -> bool:
        token = self._tokens.authenticate(credential)
        if token is None or token.role != RELAY:
            return False
        if token.collections is None:
            return True
        return token.identity.may_see(self._registry.get(collection).id)


def _respond(answer: tuple[str, Headers, bytes], start_response: StartResponse) -> Iterable[bytes]:
    status, headers, body = answer
    start_response(status, [*headers, ("Content-Length", str(len(body)))])
    return [body]
