"""Connections that obey the time limit of a whole call. Loaded with the first request.

They use httpx2 if it is installed, and httpx otherwise; both are called httpx here, and their lower
half httpcore. httpcore gives each read and write the same time-out, so a peer that sends one byte a
second could hold a request forever. Here each read and write gets only the time that is left.
"""

from __future__ import annotations

import os
import socket
import ssl
import sys
import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import certifi

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import httpcore
    import httpx

    from deniable_client.calls import Call
else:
    try:
        import httpcore2 as httpcore
        import httpx2 as httpx
    except ImportError:
        import httpcore
        import httpx

__all__ = ["Sockets", "failures", "library_of"]

_Address = tuple[Any, ...]  # what getaddrinfo gives: family, type, protocol, name, address


def library_of(inner: object) -> Any:
    """Return httpx or httpx2, the library of the transport `inner`."""
    modules = {each.__module__.partition(".")[0] for each in type(inner).__mro__}
    return next((sys.modules[name] for name in ("httpx", "httpx2") if name in modules), httpx)


def failures(library: Any) -> tuple[type[Exception], ...]:
    """Return all exceptions of this library that can end a request without a whole reply."""
    return (
        OSError,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.TimeoutException,
        httpcore.UnsupportedProtocol,
        library.HTTPError,
        library.InvalidURL,
        library.StreamError,
    )


class Sockets(httpx.BaseTransport):
    """The connection of one call, closed with its reply."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request. The body of the reply is read while it is iterated over."""
        url = request.url
        if not url.host:
            raise httpx.InvalidURL("the address names no host")
        pool = httpcore.ConnectionPool(
            ssl_context=_ssl_context() if url.scheme == "https" else None,
            max_keepalive_connections=0,
            network_backend=_Backend(self._call),
        )
        answer = pool.handle_request(
            httpcore.Request(
                request.method,
                httpcore.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.read(),
            )
        )
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer))


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        return self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


class _Backend(httpcore.NetworkBackend):
    """Opens the connections of one call."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of the host that accepts."""
        with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError):
            addresses = _addresses(host, port, self._call)
            return _Stream(_connected(addresses, self._call), self._call)


class _Stream(httpcore.NetworkStream):
    """One connection. Ignores httpcore's time-outs: the call's limit is never longer."""

    def __init__(self, connection: socket.socket, call: Call) -> None:
        self._connection = connection
        self._call = call

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _mapped(httpcore.ReadTimeout, httpcore.ReadError):
            self._connection.settimeout(self._call.left())
            return self._connection.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        unsent = memoryview(buffer)
        with _mapped(httpcore.WriteTimeout, httpcore.WriteError):
            while unsent:  # an SSLSocket's sendall would give each part the whole time
                self._connection.settimeout(self._call.left())
                unsent = unsent[self._connection.send(unsent) :]

    def close(self) -> None:
        self._call.close(self._connection)

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        with _mapped(httpcore.ConnectTimeout, httpcore.ConnectError):
            try:
                self._connection = secured = ssl_context.wrap_socket(
                    self._connection,
                    server_hostname=server_hostname,
                    do_handshake_on_connect=False,
                )
                self._call.hold(secured)
                secured.settimeout(self._call.left())
                secured.do_handshake()  # the time-out is that of the whole handshake
            except BaseException:
                self.close()
                raise
        return self

    def get_extra_info(self, info: str) -> Any:
        return None


def _connected(addresses: list[_Address], call: Call) -> socket.socket:
    error: OSError = OSError("the host has no address")
    for at, (family, kind, protocol, _, address) in enumerate(addresses):
        connection = socket.socket(family, kind, protocol)
        try:
            call.hold(connection)
            # An address that never answers must leave time for the next one.
            connection.settimeout(call.left() / (len(addresses) - at))
            connection.connect(address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            call.left()
        except OSError as refused:
            call.close(connection)
            error = refused
        else:
            return connection
    raise error


def _addresses(host: str, port: int, call: Call) -> list[_Address]:
    """Return the addresses of a host. Uses a thread, as the system's resolver has no time limit.

    Raises OSError if there are none, and TimeoutError if the resolver does not answer in time.
    """
    outcome: list[list[_Address] | OSError] = []

    def resolve() -> None:
        try:
            outcome.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            outcome.append(error if isinstance(error, OSError) else OSError(str(error)))

    thread = threading.Thread(target=resolve, name="deniable-resolve", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no more threads, or the interpreter is about to end
        resolve()
    else:
        thread.join(call.left())
    if not outcome:
        raise TimeoutError("the name server did not answer")
    [resolved] = outcome
    if isinstance(resolved, OSError):
        raise resolved
    return resolved


@cache
def _ssl_context() -> ssl.SSLContext:
    """Return a context with certifi's authorities, unless SSL_CERT_FILE or SSL_CERT_DIR is set.

    By default httpx2 would trust the system's authorities. Which library is installed must not
    change whom a device trusts.
    """
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not file and not folder:
        file = certifi.where()
    return ssl.create_default_context(cafile=file or None, capath=None if file else folder)


@contextmanager
def _mapped(late: type[Exception], failed: type[Exception]) -> Iterator[None]:
    """Raise httpcore's exceptions instead of Python's: httpcore handles only its own."""
    try:
        yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except OSError as error:
        raise failed(str(error)) from error
