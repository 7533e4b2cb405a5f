"""Refuses a path that is not in normal form, before it is routed.

With two spellings of one address, a proxy, a limit or a router could apply different rules than the
handler that the request reaches.
"""

from __future__ import annotations

import re

from deniable_gateway.problem import Problem

_UNUSUAL = re.compile(r"//|\\|/\.|%")
"""Never in usual paths, so an upload costs only one search."""

_HIDDEN = re.compile(r"%(?:2e|2f|5c)", re.IGNORECASE)
"""A dot, a slash or a backslash that is percent-encoded."""


def require_normal_path(path: str, as_sent: str = "") -> None:
    """Raises Problem("not-found") for a path that a proxy could read differently.

    Such a path has an empty or a dot segment, a backslash, or an encoded dot, slash or backslash.
    One slash at the end is normal. The status is not 400, as a device would drop its report, and
    only the address is wrong. `as_sent` is the target with its escapes, if the server provides it.
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
