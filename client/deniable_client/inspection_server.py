"""Serves the page of `telemetry show`: on loopback, under a secret path, for one person.

A page of another site can guess neither the path nor the token, and its requests name another host
or origin. So it can neither read the page nor press the switch.
"""

from __future__ import annotations

import secrets
import threading
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING, Self

from deniable_client.errors import StorageError
from deniable_client.inspection_page import HEADERS, MOST_FORM_BYTES, press, render

if TYPE_CHECKING:
    from deniable_client.client import Client

__all__ = ["InspectionServer"]

_SECRET_BYTES = 32
_IDLE_SECONDS = 10.0
_POLL_SECONDS = 0.1


class InspectionServer(ThreadingMixIn, TCPServer):
    """Serves the page at `url` until `shutdown`."""

    daemon_threads = True

    def __init__(self, client: Client, *, title: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.client: Client = client
        self.title: str = title
        self.path: str = f"/{secrets.token_urlsafe(_SECRET_BYTES)}/"
        self.token: str = secrets.token_urlsafe(_SECRET_BYTES)

    def start(self) -> Self:
        """Serve from a daemon thread, which ends with the process."""
        thread = threading.Thread(
            target=self.serve_forever, args=(_POLL_SECONDS,), name="deniable-page", daemon=True
        )
        thread.start()
        return self

    @property
    def host(self) -> str:
        """The Host field of requests to `url`."""
        return f"127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        """The address of the page. Anyone who has it can read the page and use the switch."""
        return f"http://{self.host}{self.path}"


class _Handler(BaseHTTPRequestHandler):
    server: InspectionServer  # pyright: ignore[reportIncompatibleVariableOverride]  # no other one
    timeout = _IDLE_SECONDS

    def do_GET(self) -> None:
        """Send the page."""
        if self._addressed():
            self._answer(200, self._page())

    def do_POST(self) -> None:
        """Switch as the form says, then send the page again."""
        if not self._addressed():
            return
        if self.headers.get("Origin") != f"http://{self.server.host}":
            self._answer(403, "This form does not belong to this page.")
            return
        try:
            right = press(self.server.client, self._form(), token=self.server.token)
        except StorageError as error:
            self._answer(500, f"Your answer could not be kept: {error}.")
            return
        if right:
            self._answer(303, "", Location=self.server.path)
        else:
            self._answer(403, "This form does not belong to this page. Load the page again.")

    def _addressed(self) -> bool:
        """Whether the request names this host and the secret path. Sends an error if not."""
        if self.headers.get("Host") != self.server.host:
            self._answer(421, "This server has another host name.")
        elif not compare_digest(self.path.encode(), self.server.path.encode()):
            self._answer(404, "There is no such page.")
        else:
            return True
        return False

    def _form(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        size = int(length) if length.isascii() and length.isdigit() and len(length) < 9 else 0
        return self.rfile.read(min(size, MOST_FORM_BYTES + 1))

    def _page(self) -> str:
        server = self.server
        return render(server.client, title=server.title, action=server.path, token=server.token)

    def _answer(self, status: int, text: str, **more: str) -> None:
        body = text.encode()
        self.send_response_only(status)
        plain = {} if status == 200 else {"Content-Type": "text/plain; charset=utf-8"}
        length = {"Content-Length": str(len(body))}
        for name, value in {**HEADERS, **plain, **length, **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # takes them all
        """Log nothing: the path of a request is a secret."""
