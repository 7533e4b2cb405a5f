"""An upload as a request: which collection it is for, its length, a problem as an answer."""

from __future__ import annotations

import json

from deniable_gateway.problem import Problem
from deniable_shared.wire.problems import PROBLEM_MEDIA_TYPE
from deniable_shared.wire.report import MAX_UPLOAD_BYTES, MEDIA_TYPE

PATH_START, PATH_END = "/v1/collections/", "/reports"

Headers = list[tuple[str, str]]
Reply = tuple[int, Headers, bytes]
"""Status, header fields and body of an answer."""


def content_length(content_type: str, announced: str) -> int:
    """The announced length; Problem for one that is not accepted and for another media type.

    Either is "" where the request does not say it.
    """
    if content_type != MEDIA_TYPE and _normalize(content_type) != MEDIA_TYPE:
        raise Problem(
            "unsupported-media-type",
            f"Content-Type must be {MEDIA_TYPE}, got {content_type[:100]!r}",
        )
    return _parse_length(announced)


def upload_collection(method: str, path: str) -> str | None:
    """The collection an upload is for; None for any other request."""
    if method != "POST" or not path.endswith(PATH_END):
        return None
    name = path[len(PATH_START) : -len(PATH_END)]
    return name if path.startswith(PATH_START) and name and "/" not in name else None


def require_whole(body: bytes, length: int) -> bytes:
    """The body; Problem("invalid-message") where it ended before the announced length."""
    if len(body) != length:
        raise Problem("invalid-message", f"the body has {len(body)} bytes, {length} were announced")
    return body


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


def problem_reply(problem: Problem) -> Reply:
    """A problem as an answer."""
    headers = [("Content-Type", PROBLEM_MEDIA_TYPE), *problem.headers()]
    return problem.status, headers, json.dumps(problem.document()).encode()
