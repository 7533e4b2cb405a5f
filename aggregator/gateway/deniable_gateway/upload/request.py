"""An upload as a request: its collection, its length, and a problem as a reply."""

from __future__ import annotations

import json

from deniable_gateway.problem import Problem
from deniable_shared.wire.problems import PROBLEM_MEDIA_TYPE
from deniable_shared.wire.report import MAX_UPLOAD_BYTES, MEDIA_TYPE

PATH_START, PATH_END = "/v1/collections/", "/reports"

Headers = list[tuple[str, str]]
Reply = tuple[int, Headers, bytes]
"""Status, header fields and body of a reply."""


def content_length(content_type: str, announced: str) -> int:
    """Return the announced length in bytes. Raises Problem if it or the media type is not accepted.

    Both arguments are "" if the request lacks the field.
    """
    if content_type != MEDIA_TYPE and _normalize(content_type) != MEDIA_TYPE:
        raise Problem(
            "unsupported-media-type",
            f"Content-Type must be {MEDIA_TYPE}, got {content_type[:100]!r}",
        )
    return _parse_length(announced)


def upload_collection(method: str, path: str) -> str | None:
    """Return the collection of an upload; None for any other request."""
    if method != "POST" or not path.endswith(PATH_END):
        return None
    name = path[len(PATH_START) : -len(PATH_END)]
    return name if path.startswith(PATH_START) and name and "/" not in name else None


def require_whole(body: bytes, length: int) -> bytes:
    """Return the body. Raises Problem("invalid-message") if it is shorter than announced."""
    if len(body) != length:
        raise Problem("invalid-message", f"the body has {len(body)} bytes, {length} were announced")
    return body


def _normalize(media_type: str) -> str:
    """Return the media type in lower case, without spaces, parameters sorted."""
    kind, *parameters = media_type.lower().replace(" ", "").replace('"', "").split(";")
    return ";".join([kind, *sorted(parameters)])


def _parse_length(given: str) -> int:
    """Return the announced length if it is acceptable; a longer body is never read."""
    if not given:
        raise Problem("length-required", "the request must carry Content-Length, chunked or not")
    if not (given.isascii() and given.isdigit()):
        raise Problem("invalid-message", "Content-Length must be a decimal number")
    if len(given) > len(str(MAX_UPLOAD_BYTES)) or int(given) > MAX_UPLOAD_BYTES:
        raise Problem("too-large", f"an upload must be at most {MAX_UPLOAD_BYTES} bytes")
    return int(given)


def problem_reply(problem: Problem) -> Reply:
    """Return a problem as a reply."""
    headers = [("Content-Type", PROBLEM_MEDIA_TYPE), *problem.headers()]
    return problem.status, headers, json.dumps(problem.document()).encode()
