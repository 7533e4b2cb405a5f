"""How bytes reach the aggregator. Alone knows the HTTP library, and only once something is sent.

Every request is alike and has its own connection: no keep-alive, resumption, redirects, cookies,
authorization, validators or proxies of the environment, one User-Agent for all. An answer is read
up to 1 MiB, and the time-out is that of the whole exchange.
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
    """An answer: the status, the whole body as it came, and every header field by its name.

    The header fields decide whose answer it is, so a transport leaves none of them out.
    """

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def retry_after(self) -> float | None:
        """Retry-After in seconds from now; None if there is none that can be read."""
        return _seconds(header_field(self.headers, "retry-after"))


class Transport(Protocol):
    """The seam between this client and a network."""

    def request(
        self,
        method: str,
        url: str,
        *,
        body: bytes | None = None,
        content_type: str | None = None,
        timeout: float = 10.0,
    ) -> Reply:
        """One request on its own connection, not answered with less than the whole reply.

        Raises TransportError if `timeout` seconds, from name look-up to last byte, give none.
        """
        ...


class HttpTransport:
    """HTTP/1.1. `inner` replaces the sockets: a proxy, or an app in this process.

    It is a transport of httpx or of httpx2.

    With `inner`, the time-out is that of each read until the header fields are there.
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
        """The same, within the call's time; `Call.cut` ends it at once."""
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
            raise TransportError(f"{method} {url}: {type(error).__name__}") from error


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
    """Seconds from now, of a number or of an HTTP date."""
    if value.isascii() and value.isdigit():
        return float(value[:9])
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
