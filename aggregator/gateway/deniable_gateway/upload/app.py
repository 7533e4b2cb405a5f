"""A relay or an intake over HTTP: uploads, and the copy of what the aggregator publishes.

A bare WSGI callable. Nothing it answers depends on what others have sent: only `status`, which
reads the relay's file, says how much waits.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from deniable_gateway.problem import Problem
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
    from wsgiref.types import StartResponse, WSGIEnvironment

    from deniable_gateway.suspension import Suspension
    from deniable_gateway.upload.sealed_uploads import SealedUploads

DSSE = "application/vnd.dsse.envelope+json"
JSON = "application/json"
MANIFEST = ("/v1/collections/", "/manifest")

Reply = tuple[str, Headers, bytes]
IsRelay = Callable[[str, str], bool]
"""Whether an Authorization header carries a relay's token for a collection."""

logger = logging.getLogger(__name__)


class GatewayApp:
    """Answers devices from one copy of what the aggregator publishes."""

    def __init__(
        self,
        uploads: SealedUploads,
        *,
        trusted_proxy: bool,
        suspension: Suspension,
        is_relay: IsRelay | None = None,
    ) -> None:
        """Without `is_relay` nobody has a token here, and what is called one is not looked at."""
        self._uploads = uploads
        self._suspension = suspension
        self._limited = not trusted_proxy
        self._is_relay = is_relay
        self.body_guard = SlowBodyGuard(BODY_SECONDS)
        self._pages: dict[str, Callable[[WSGIEnvironment], Reply]] = {
            "/v1/keys": lambda _: _ok(self._uploads.require_mirror().keys, DSSE),
            "/v1/collections": lambda _: _ok(self._uploads.require_mirror().listing, JSON),
            "/v1/log": self._log,
            "/healthz": lambda _: _status("ok"),
            "/readyz": self._readyz,
        }

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            status, headers, body = self._answer(environ)
        except Problem as problem:
            status, headers, body = problem_response(problem)
        except Exception:
            logger.exception("a request failed")
            status, headers, body = problem_response(
                Problem("internal", "the relay failed: try again")
            )
        headers += [("Content-Length", str(len(body))), ("Cache-Control", "no-store")]
        start_response(status, headers)
        return [body]

    def _answer(self, environ: WSGIEnvironment) -> Reply:
        require_normal_path(environ)
        collection = upload_collection(environ)
        if collection is not None:
            return self._upload(collection, environ)
        path: str = environ.get("PATH_INFO", "")
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            raise Problem("method-not-allowed", "a relay takes uploads and GET requests only")
        if path.startswith(MANIFEST[0]) and path.endswith(MANIFEST[1]):
            return self._manifest(path[len(MANIFEST[0]) : -len(MANIFEST[1])], environ)
        if path not in self._pages:
            raise Problem("not-found", "a relay has keys, log, collections and manifests only")
        return self._pages[path](environ)

    def _upload(self, collection: str, environ: WSGIEnvironment) -> Reply:
        self._suspension.require_none()
        length = content_length(environ)
        address = environ.get("REMOTE_ADDR", "")
        credential = None if self._is_relay is None else environ.get("HTTP_AUTHORIZATION")
        relay = bool(credential and self._is_relay and self._is_relay(credential, collection))
        failed = self._uploads.upload(
            collection,
            read_body(environ, length, self.body_guard),
            prefix=network_prefix(address) if self._limited else None,
            relay=relay,
            token_refused=credential is not None and not relay,
        )
        return _ok(encode_errors(failed), ERRORS_MEDIA_TYPE)

    def _manifest(self, name: str, environ: WSGIEnvironment) -> Reply:
        envelope = self._uploads.require_mirror().manifest(name, _number(environ, "version", 1))
        if envelope is None:
            raise Problem("unknown-collection", "no collection has this id or name and version")
        return _ok(envelope, DSSE)

    def _log(self, environ: WSGIEnvironment) -> Reply:
        return _ok(self._uploads.require_mirror().log_page(_number(environ, "from", 0) or 0), JSON)

    def _readyz(self, _environ: WSGIEnvironment) -> Reply:
        self._suspension.require_none()
        self._uploads.require_mirror()
        return _status("ready")


def _ok(body: bytes, content_type: str) -> Reply:
    return "200 OK", [("Content-Type", content_type)], body


def _status(status: str) -> Reply:
    return _ok(json.dumps({"status": status}).encode(), JSON)


def _number(environ: WSGIEnvironment, name: str, least: int) -> int | None:
    given = parse_qs(environ.get("QUERY_STRING", "")).get(name)
    if given is None:
        return None
    text = given[-1]
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= least):
        raise Problem(
            "invalid-argument", f"{name} must be a number from {least} on, got {text[:40]!r}"
        )
    return int(text)
