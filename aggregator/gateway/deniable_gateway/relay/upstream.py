"""The aggregator as a relay sees it: GETs of public pages, POSTs of batches with the token."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPMessage
from typing import IO, TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request

from deniable_gateway.errors import UpstreamError
from deniable_gateway.relay.forwarder import UpstreamReply
from deniable_shared.wire.report import MEDIA_TYPE

if TYPE_CHECKING:
    from pathlib import Path

USER_AGENT = "deniable-relay/1"
TIMEOUT_SECONDS = 30.0
_LONGEST_TOKEN = 200

Send = Callable[[Request], UpstreamReply]
"""Returns a reply of any status. Raises OSError or HTTPException if there is none."""


class Upstream:
    """One aggregator.

    The token is read for every batch, so its file can be replaced at any time.
    """

    def __init__(self, url: str, *, token_file: Path, send: Send | None = None) -> None:
        """Set up the connection.

        `send` replaces the network, like an application in this process.
        """
        self._url = url.rstrip("/")
        self._token_file = token_file
        self._send = send or send_over_network

    def get(self, path: str) -> bytes:
        """Return the body of a successful GET. Raises UpstreamError for anything else."""
        try:
            reply = self._send(self._request(path))
        except (OSError, HTTPException) as error:
            raise UpstreamError(f"GET {path}: {error}") from error
        if reply.status != 200:
            raise UpstreamError(f"GET {path}: HTTP {reply.status}")
        return reply.body

    def post(self, collection: str, body: bytes) -> UpstreamReply:
        """Send reports and return the reply."""
        request = self._request(f"/v1/collections/{collection}/reports", body)
        request.add_header("Content-Type", MEDIA_TYPE)
        request.add_header("Authorization", f"Bearer {self._token()}")
        try:
            return self._send(request)
        except (OSError, HTTPException):
            return UpstreamReply(0, b"", {})

    def _request(self, path: str, body: bytes | None = None) -> Request:
        # A reply whose coding changed on the way settles no report.
        headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
        return Request(self._url + path, data=body, headers=headers)  # noqa: S310  (see RelayOptions)

    def _token(self) -> str:
        text = self._token_file.read_text(encoding="ascii").strip()
        if not text or len(text) > _LONGEST_TOKEN or not text.isprintable():
            raise UpstreamError(
                f"{self._token_file} must hold one token, as `deniable access tokens new` prints it"
            )
        return text


class _NoRedirects(HTTPRedirectHandler):
    """Treats a redirect as a normal reply, so that the token goes to no other server."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Return None: never follow."""


_opener = urllib.request.build_opener(_NoRedirects)


def send_over_network(request: Request) -> UpstreamReply:
    """Send a request on its own connection, through the proxies of the environment."""
    try:
        response = _opener.open(request, timeout=TIMEOUT_SECONDS)
    except HTTPError as error:
        response = error
    with response:
        return UpstreamReply(response.status, response.read(), dict(response.headers))
