"""Refuses a path that is not in its normal form, before anything is routed by it.

Two spellings of one address would let a request reach a handler by another rule than the one that
a proxy, a limit or a router looked at.
"""

from __future__ import annotations

import re

from deniable_gateway.problem import Problem

_UNUSUAL = re.compile(r"//|\\|/\.|%")
"""In none of the usual paths: one search is all that an upload costs."""

_HIDDEN = re.compile(r"%(?:2e|2f|5c)", re.IGNORECASE)
"""A dot, a slash or a backslash that is percent-encoded."""


def require_normal_path(path: str, as_sent: str = "") -> None:
    """Raises Problem("not-found") for a path that a proxy could read in another way.

    That is one with an empty or a dot segment, a backslash, or an encoded dot, slash or backslash.
    One slash at the end is normal. Not 400: a device drops its report for that, and here only the
    address is wrong. `as_sent` is the target with its escapes, where the server keeps it.
    """
    if _is_normal(path) and not _HIDDEN.search(as_sent.partition("?")[0]):
        return
    raise Problem(
        "not-found",
        f"the path {path[:200]!r} is not in its normal form: send it with single slashes, without "
        "the segments . and .., without backslashes, and with no dot or slash percent-encoded",
    )


def _is_normal(path: str) -> bool:
    if path and not path.startswith("/"):
        return False
    if not _UNUSUAL.search(path):
        return True
    dots = not {".", ".."}.isdisjoint(path.split("/"))
    return not (dots or "//" in path or "\\" in path or _HIDDEN.search(path))
