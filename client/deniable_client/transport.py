"""How bytes reach the aggregator. Alone knows the HTTP library, and only once something is sent.

Every request is alike and has its own connection: no keep-alive, resumption, redirects, cookies,
authorization, validators or proxies of the environment, one User-Agent for all. An answer is read
up to 1 MiB and up to the time-out.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from deniable_client.errors import TransportError

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ["USER_AGENT", "HttpTransport", "Reply", "Transport"]

USER_AGENT = "deniable/1"

_MAX_REPLY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: the status, the body, and Retry-After in seconds if there was one."""

    status: int
    body: bytes = b""
    retry_after: float | None = None


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
        """One request on its own connection; TransportError if `timeout` seconds give no answer."""


class HttpTransport:
    """HTTP/1.1 through httpx. `inner` replaces its sockets: a proxy, or an app in this process."""

    def __init__(self, inner: httpx.BaseTransport | None = None) -> None:
        self._inner = inner
        self._sockets: dict[tuple[int, bool], httpx.BaseTransport] = {}

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
        import httpx

        deadline = time.monotonic() + timeout
        headers = {"User-Agent": USER_AGENT, "Accept": "*/*", "Connection": "close"}
        if content_type is not None:
            headers["Content-Type"] = content_type
        limits = {"timeout": httpx.Timeout(timeout).as_dict()}
        try:
            request = httpx.Request(method, url, headers=headers, content=body, extensions=limits)
            response = self._transport(secure=request.url.scheme == "https").handle_request(request)
            try:
                data = _read(response, deadline)
            finally:
                response.close()
        except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError) as error:
            raise TransportError(f"{method} {url}: {type(error).__name__}") from error
        return Reply(response.status_code, data, _seconds(response.headers.get("Retry-After")))

    def _transport(self, *, secure: bool) -> httpx.BaseTransport:
        import httpx

        if self._inner is not None:
            return self._inner
        place = (os.getpid(), secure)
        if place not in self._sockets:
            self._sockets[place] = httpx.HTTPTransport(
                verify=_ssl_context() if secure else False,
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            )
        return self._sockets[place]


@cache
def _ssl_context() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()


def _read(response: httpx.Response, deadline: float) -> bytes:
    data = bytearray()
    chunks = (response.content,) if response.is_stream_consumed else response.iter_raw()
    for chunk in chunks:
        data += chunk
        if len(data) > _MAX_REPLY_BYTES:
            raise OSError(f"the answer is longer than {_MAX_REPLY_BYTES} bytes")
        if time.monotonic() > deadline:
            raise TimeoutError("the answer took too long")
    return bytes(data)


def _seconds(value: str | None) -> float | None:
    """Seconds from now, of a number or of an HTTP date."""
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        return float(value[:9])
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
