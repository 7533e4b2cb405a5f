"""Sends bytes to the aggregator.

Only this module knows the HTTP library, and loads it on first use.

All requests look alike, and each has its own connection: no keep-alive, resumption, redirects,
cookies, authorization, validators or proxies of the environment, one User-Agent for all. At most
1 MiB of a reply is read. The time limit covers the whole exchange.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from deniable_client.calls import Call
from deniable_client.errors import TransportError
from deniable_shared.wire.replies import header_field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import httpx
    import httpx2

__all__ = ["USER_AGENT", "HttpTransport", "Reply", "Transport"]

USER_AGENT = "deniable/1"

_MAX_REPLY_BYTES = 1 << 20
_TIMEOUTS = ("connect", "read", "write", "pool")  # as httpx passes them on


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply: the status, the whole body unchanged, and every header field by its name.

    Header fields show whether the aggregator itself sent the reply, so a transport must keep them
    all.
    """

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def retry_after(self) -> float | None:
        """Retry-After in seconds from now; None if it is missing or cannot be read."""
        return _seconds(header_field(self.headers, "retry-after"))


class Transport(Protocol):
    """The interface between this client and a network."""

    def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 10.0,
    ) -> Reply:
        """Send one request on its own connection, and return the whole reply.

        Raises TransportError if there is no whole reply within `timeout` seconds, name look-up
        included.
        """
        ...


class HttpTransport:
    """Sends requests over HTTP/1.1.

    `inner` replaces the sockets: a proxy, or an app in this process.

    `inner` is a transport of httpx or of httpx2. With it, the time-out applies to each read until
    the header fields are complete.
    """

    def __init__(self, inner: httpx.BaseTransport | httpx2.BaseTransport | None = None) -> None:
        self._inner = inner

    def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 10.0,
    ) -> Reply:
        """See `Transport`. Safe for many threads, and after a fork."""
        return self.exchange(Call(timeout), method, url, body=body, content_type=content_type)

    def exchange(
        self,
        call: Call,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        content_type: str | None = None,
    ) -> Reply:
        """Send a request within the call's time limit; `Call.cut` ends it at once."""
        from deniable_client.sockets import Sockets, failures, library_of

        inner = self._inner or Sockets(call)
        library = library_of(inner)
        headers = {"User-Agent": USER_AGENT, "Accept": "*/*", "Connection": "close"}
        if content_type is not None:
            headers["Content-Type"] = content_type
        try:
            request = library.Request(method, url, headers=headers, content=body)
            return _reply(inner, request, call)
        except failures(library) as error:
            detail = f" ({error!s:.200})" if str(error) else ""
            raise TransportError(f"{method} {url}: {type(error).__name__}{detail}") from error


def _reply(sockets: Any, request: Any, call: Call) -> Reply:
    request.extensions["timeout"] = dict.fromkeys(_TIMEOUTS, call.left())
    response = sockets.handle_request(request)
    with closing(response):
        chunks = (response.content,) if response.is_stream_consumed else response.iter_raw()
        return Reply(response.status_code, _read(chunks, call), dict(response.headers))


def _read(chunks: Iterable[bytes], call: Call) -> bytes:
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > _MAX_REPLY_BYTES:
            raise OSError(f"the answer is longer than {_MAX_REPLY_BYTES} bytes")
        call.left()
    return bytes(data)


def _seconds(value: str) -> float | None:
    """Return the seconds from now that a number or an HTTP date means."""
    if value.isascii() and value.isdigit():
        return float(value[:9])
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
