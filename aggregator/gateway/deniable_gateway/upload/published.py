"""Replies of a relay or an intake to other requests: the copy of what the aggregator publishes.

No reply depends on what other devices have sent. Only `status`, which reads the relay's file, says
how many reports wait. Everything is in memory, so the event loop replies directly.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from deniable_gateway.problem import Problem
from deniable_gateway.upload.request import Reply, problem_reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_gateway.suspension import Suspension
    from deniable_gateway.upload.front import Scope
    from deniable_gateway.upload.sealed_uploads import SealedUploads

DSSE = "application/vnd.dsse.envelope+json"
JSON = "application/json"
MANIFEST = ("/v1/collections/", "/manifest")

logger = logging.getLogger(__name__)


class PublishedPages:
    """Answers devices from one copy of what the aggregator publishes."""

    def __init__(self, uploads: SealedUploads, *, suspension: Suspension) -> None:
        self._uploads = uploads
        self._suspension = suspension
        self._pages: dict[str, Callable[[str], Reply]] = {
            "/v1/keys": lambda _: _ok(self._uploads.require_mirror().keys, DSSE),
            "/v1/collections": lambda _: _ok(self._uploads.require_mirror().listing, JSON),
            "/v1/log": self._log,
            "/healthz": lambda _: _status("ok"),
            "/readyz": self._readyz,
        }

    def body_limit(self, _method: str, _path: str) -> int:
        """Return 0: no body is read."""
        return 0

    async def answer(self, scope: Scope, _body: bytes) -> Reply:
        """Return the page, or the problem."""
        try:
            status, headers, body = self._page(scope)
        except Problem as problem:
            status, headers, body = problem_reply(problem)
        except Exception:
            logger.exception("a request failed")
            status, headers, body = problem_reply(
                Problem("internal", "the relay failed: try again")
            )
        return status, [*headers, ("Cache-Control", "no-store")], body

    def _page(self, scope: Scope) -> Reply:
        path, query = scope["path"], scope["query_string"].decode("latin-1")
        if scope["method"] not in ("GET", "HEAD"):
            raise Problem("method-not-allowed", "a relay accepts only uploads and GET requests")
        if path.startswith(MANIFEST[0]) and path.endswith(MANIFEST[1]):
            return self._manifest(path[len(MANIFEST[0]) : -len(MANIFEST[1])], query)
        if path not in self._pages:
            raise Problem("not-found", "a relay has only keys, log, collections and manifests")
        return self._pages[path](query)

    def _manifest(self, name: str, query: str) -> Reply:
        envelope = self._uploads.require_mirror().manifest(name, _number(query, "version", 1))
        if envelope is None:
            raise Problem("unknown-collection", "no collection has this id or name and version")
        return _ok(envelope, DSSE)

    def _log(self, query: str) -> Reply:
        return _ok(self._uploads.require_mirror().log_page(_number(query, "from", 0) or 0), JSON)

    def _readyz(self, _query: str) -> Reply:
        self._suspension.require_none()
        self._uploads.require_mirror()
        return _status("ready")


def _ok(body: bytes, content_type: str) -> Reply:
    return 200, [("Content-Type", content_type)], body


def _status(status: str) -> Reply:
    return _ok(json.dumps({"status": status}).encode(), JSON)


def _number(query: str, name: str, least: int) -> int | None:
    given = parse_qs(query).get(name)
    if given is None:
        return None
    text = given[-1]
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= least):
        raise Problem(
            "invalid-argument", f"{name} must be a number from {least} on, got {text[:40]!r}"
        )
    return int(text)
