"""An upload as a request: which collection it is for, its whole body, a problem as an answer."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING

from deniable_gateway.problem import Problem
from deniable_shared.wire.problems import PROBLEM_MEDIA_TYPE
from deniable_shared.wire.report import MAX_UPLOAD_BYTES, MEDIA_TYPE

if TYPE_CHECKING:
    from wsgiref.types import WSGIEnvironment

    from deniable_gateway.upload.slow_body_guard import SlowBodyGuard

PATH_START, PATH_END = "/v1/collections/", "/reports"

Headers = list[tuple[str, str]]


def content_length(environ: WSGIEnvironment) -> int:
    """The announced length; Problem for one that is not accepted and for another media type."""
    _check_content_type(environ.get("CONTENT_TYPE", ""))
    return _parse_length(environ.get("CONTENT_LENGTH", ""))


def read_body(environ: WSGIEnvironment, length: int, guard: SlowBodyGuard) -> bytes:
    """The whole body, of the length that was announced."""
    body = guard.read(environ["wsgi.input"], length, environ.get("REMOTE_ADDR", ""))
    if len(body) != length:
        raise Problem("invalid-message", f"the body has {len(body)} bytes, {length} were announced")
    return body


def upload_collection(environ: WSGIEnvironment) -> str | None:
    """The collection an upload is for; None for any other request."""
    path: str = environ.get("PATH_INFO", "")
    if environ["REQUEST_METHOD"] != "POST" or not path.endswith(PATH_END):
        return None
    name = path[len(PATH_START) : -len(PATH_END)]
    return name if path.startswith(PATH_START) and name and "/" not in name else None


def _check_content_type(given: str) -> None:
    if given == MEDIA_TYPE:
        return
    if _normalize(given) != MEDIA_TYPE:
        raise Problem(
            "unsupported-media-type", f"Content-Type must be {MEDIA_TYPE}, got {given[:100]!r}"
        )


def _normalize(media_type: str) -> str:
    """Lower case, without spaces, parameters sorted."""
    kind, *parameters = media_type.lower().replace(" ", "").replace('"', "").split(";")
    return ";".join([kind, *sorted(parameters)])


def _parse_length(given: str) -> int:
    """The announced length, once it is known to be acceptable: nothing longer is ever read."""
    if not given:
        raise Problem("length-required", "the request must carry Content-Length, chunked or not")
    if not (given.isascii() and given.isdigit()):
        raise Problem("invalid-message", "Content-Length must be a decimal number")
    if len(given) > len(str(MAX_UPLOAD_BYTES)) or int(given) > MAX_UPLOAD_BYTES:
        raise Problem("too-large", f"an upload must be at most {MAX_UPLOAD_BYTES} bytes")
    return int(given)


def problem_response(problem: Problem) -> tuple[str, Headers, bytes]:
    """Status line, headers and body of the response that reports a problem."""
    headers = [("Content-Type", PROBLEM_MEDIA_TYPE), *problem.headers()]
    body = json.dumps(problem.document()).encode()
    return f"{problem.status} {HTTPStatus(problem.status).phrase}", headers, body
