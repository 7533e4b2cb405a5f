"""Which replies a page of another origin may read, for the clients in browsers (CORS).

    reports of a collection            origins that its newest manifest names in `web_origins`
    key list, log, signed manifests    every origin: they are public, and devices verify them

Refusals have the same fields, so that a page learns to wait. A request with a cookie or a token
gets none of them. CORS is no authentication: it controls which pages a browser lets read a reply. A
client that is no browser can send anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_gateway.upload.request import upload_collection

if TYPE_CHECKING:
    from deniable_gateway.upload.request import Headers

WebOrigins = Callable[[str], Collection[str]]
"""Returns the origins whose pages may upload to a collection, by its id or name."""


def no_origins(_collection: str) -> tuple[str, ...]:
    """Return no origins: no page may upload."""
    return ()


PREFLIGHT_SECONDS = 86_400
"""Seconds for which a browser may remember that it may upload."""

PRIVATE = ("authorization", "cookie")

_PUBLIC = frozenset({"/v1/keys", "/v1/log"})
_MANIFEST = ("/v1/collections/", "/manifest")
_EXPOSED = "Content-Length, Date, Retry-After"


@dataclass(frozen=True, slots=True)
class PageAccess:
    """The header fields of a reply. `preflight`: the browser only asks whether it may send."""

    fields: Headers
    preflight: bool = False


NONE = PageAccess([])


def page_access(
    method: str, path: str, headers: Mapping[str, str], web_origins: WebOrigins
) -> PageAccess:
    """Return what a page may do with the reply.

    Of `headers`, by lower-case names, it reads `origin`, `cookie`, `authorization` and
    `access-control-request-method`.
    """
    origin = headers.get("origin")
    if not origin or any(name in headers for name in PRIVATE):
        return NONE
    preflight = method == "OPTIONS" and headers.get("access-control-request-method") == "POST"
    collection = upload_collection("POST" if preflight else method, path)
    if collection is None:
        return PageAccess(_allow(origin)) if method == "GET" and _is_public(path) else NONE
    if origin not in web_origins(collection):
        return NONE
    return PageAccess([*_allow(origin), *(_PREFLIGHT if preflight else [])], preflight)


def _is_public(path: str) -> bool:
    return path in _PUBLIC or (path.startswith(_MANIFEST[0]) and path.endswith(_MANIFEST[1]))


def _allow(origin: str) -> Headers:
    return [
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Expose-Headers", _EXPOSED),
        ("Vary", "Origin"),
    ]


_PREFLIGHT: Headers = [
    ("Access-Control-Allow-Methods", "POST"),
    ("Access-Control-Allow-Headers", "Content-Type"),
    ("Access-Control-Max-Age", str(PREFLIGHT_SECONDS)),
]
