"""One run's line to the aggregator: every request is permitted first, all share one time limit."""

from __future__ import annotations

import time
from collections.abc import Callable

from deniable_client.errors import HaltedError, TransportError
from deniable_client.transport import Reply, Transport

__all__ = ["Line"]

_LONGEST_REQUEST = 10.0


class Line:
    """One run's requests. `permit` raises HaltedError when no socket may be opened any more."""

    def __init__(self, transport: Transport, permit: Callable[[], None], *, seconds: float) -> None:
        self._transport = transport
        self._permit = permit
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until the time limit."""
        return self._end - time.monotonic()

    def get(self, url: str) -> bytes:
        """The body of a 200; TransportError for any other answer or none."""
        reply = self._request("GET", url, None, None)
        if reply.status != 200:
            raise TransportError(f"GET {url}: the answer was {reply.status}")
        return reply.body

    def post(self, url: str, body: bytes, content_type: str) -> Reply:
        """The answer, whatever it is; TransportError if there is none."""
        return self._request("POST", url, body, content_type)

    def _request(
        self, method: str, url: str, body: bytes | None, content_type: str | None
    ) -> Reply:
        self._permit()
        left = self.left
        if left <= 0:
            raise HaltedError("the time limit is over")
        return self._transport.request(
            method,
            url,
            body=body,
            content_type=content_type,
            timeout=min(left, _LONGEST_REQUEST),
        )
