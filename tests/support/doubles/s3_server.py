"""A stand-in for S3 (moto), with a bucket for each test.

Every request is noted, and `held` stops those that write until a test lets go or the sender is
dead.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

__all__ = ["CREDENTIALS", "Server", "bucket", "server"]

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_numbers = count(1)


@dataclass
class Server:
    """`requests` are (method, path), oldest first."""

    port: int = 0
    requests: list[tuple[str, str]] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)
    _go_on: threading.Event = field(default_factory=threading.Event)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Meanwhile no PUT or POST is looked at; `arrived` says that one has come."""
        self.arrived.clear()
        self._go_on.clear()
        try:
            yield
        finally:
            self._go_on.set()

    def around(self, app: Callable[..., Any]) -> Callable[..., Any]:
        """The same application, watched."""
        self._go_on.set()

        def watched(environ: dict[str, Any], start_response: Any) -> Any:
            method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
            self.requests.append((method, path))
            if method in ("PUT", "POST") and not self._go_on.is_set():
                self.arrived.set()
                self._go_on.wait(60)
                start_response("503 Slow Down", [("Content-Length", "0")])
                return [b""]
            return app(environ, start_response)

        return watched


@cache
def server() -> Server:
    """The running server."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Silent(WSGIRequestHandler):
        def log(self, type: str, message: str, *args: Any) -> None:
            """Nothing: pytest would show it as an error's output."""

    actual = Server()
    app = actual.around(DomainDispatcherApplication(create_backend_app))
    serving = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Silent)
    actual.port = serving.server_port
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    atexit.register(serving.server_close)
    return actual


def bucket(credentials: str = "") -> str:
    """The address of a spool in a new bucket.

    `credentials` are "key:secret"; without them readers need `CREDENTIALS` in their environment.
    """
    name = f"bucket-{next(_numbers)}"
    with urlopen(Request(f"{server().origin}/{name}", method="PUT")) as answer:  # noqa: S310  (loopback, over http)
        assert answer.status == 200
    endpoint = quote(server().origin, safe="")
    who = credentials and f"{credentials}@"
    return f"s3://{who}{name}/spool?region=us-east-1&endpoint_override={endpoint}"
