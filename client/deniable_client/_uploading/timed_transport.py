"""The requests of one run: each needs permission first, and all share one time limit."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from deniable_client.errors import HaltedError, TransportError
from deniable_client.transport import HttpTransport, Reply, Transport

if TYPE_CHECKING:
    from collections.abc import Callable

    from deniable_client.calls import Call, Calls

_LONGEST_REQUEST = 10.0


class TimedTransport:
    """One run's requests. `permit` raises HaltedError if no socket may be opened now."""

    def __init__(
        self, transport: Transport, calls: Calls, permit: Callable[[], None], seconds: float
    ) -> None:
        self._transport = transport
        self._permit = permit
        self._calls = calls
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until the time limit."""
        return self._end - time.monotonic()

    def get(self, url: str) -> bytes:
        """Return the body of a 200. Raises TransportError for any other reply or none."""
        reply = self._request("GET", url, None, None)
        if reply.status != 200:
            raise TransportError(f"GET {url}: the answer was {reply.status}")
        return reply.body

    def post(self, url: str, body: bytes, content_type: str) -> Reply:
        """Return the reply, with any status. Raises TransportError if there is none."""
        return self._request("POST", url, body, content_type)

    def _request(
        self, method: str, url: str, body: bytes | None, content_type: str | None
    ) -> Reply:
        # Registered before the check: a denial meanwhile either forbids the call or cuts it off.
        with self._calls.begin(min(self.left, _LONGEST_REQUEST)) as call:
            if self._calls.closed:
                raise HaltedError("the client was closed")
            self._permit()
            if self.left <= 0:
                raise HaltedError("the time limit is over")
            return self._exchange(call, method, url, body, content_type)

    def _exchange(
        self, call: Call, method: str, url: str, body: bytes | None, content_type: str | None
    ) -> Reply:
        try:
            timeout = call.left()
        except OSError as error:
            raise TransportError(f"{method} {url}: {error}") from error
        if isinstance(self._transport, HttpTransport):
            return self._transport.exchange(call, method, url, body=body, content_type=content_type)
        return self._transport.request(
            method, url, body=body, content_type=content_type, timeout=timeout
        )
