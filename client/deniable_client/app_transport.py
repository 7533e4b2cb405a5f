"""Requests over a transport that the app gives, one of httpx or httpx2. Loaded with the first."""

from __future__ import annotations

from contextlib import closing, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from deniable_client.calls import no_reply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deniable_client.calls import Answer, Call

__all__ = ["exchanged"]

_TIMEOUTS = ("connect", "read", "write", "pool")  # as httpx passes them on


@contextmanager
def exchanged(
    inner: Any, call: Call, method: str, url: str, fields: Mapping[str, str], body: bytes | None
) -> Iterator[Answer]:
    """Send a request, and read its reply inside the block. See `sockets.exchanged`."""
    library = _library_of(inner)
    try:
        request = library.Request(method, url, headers=fields, content=body)
        request.extensions["timeout"] = dict.fromkeys(_TIMEOUTS, call.left())
        with closing(inner.handle_request(request)) as reply:
            chunks = (reply.content,) if reply.is_stream_consumed else reply.iter_raw()
            yield reply.status_code, dict(reply.headers), chunks
    except (OSError, library.HTTPError, library.InvalidURL, library.StreamError) as error:
        raise no_reply(method, url, error) from error


def _library_of(inner: object) -> Any:
    """Return httpx or httpx2: the one whose class the transport extends."""
    modules = {each.__module__.partition(".")[0] for each in type(inner).__mro__}
    return import_module("httpx2" if "httpx2" in modules else "httpx")
