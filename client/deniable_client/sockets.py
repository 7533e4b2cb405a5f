"""Connections that obey the time limit of a whole call. Loaded with the first request.

They use httpcore2 if it is installed, and httpcore otherwise, the lower halves of httpx2 and httpx;
both are called httpcore here. It gives each read and write the same time-out, so a peer that sends
one byte a second could hold a request forever. Here each one gets only the time that is left.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
from contextlib import closing, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import certifi

from deniable_client.calls import no_reply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import httpcore

    from deniable_client.calls import Answer, Call
else:
    try:
        import httpcore2 as httpcore
    except ImportError:
        import httpcore

__all__ = ["exchanged"]

_FAILURES = (
    OSError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)
_DEFAULT_PORTS = {b"http": 80, b"https": 443}

_Address = tuple[Any, ...]  # what getaddrinfo gives: family, type, protocol, name, address


@contextmanager
def exchanged(
    call: Call, method: str, url: str, fields: Mapping[str, str], body: bytes | None
) -> Iterator[Answer]:
    """Send a request, and read its reply inside the block. The connection ends with it.

    Raises TransportError if there is no whole reply.
    """
    try:
        with closing(_handled(call, method, _parsed(url), fields, body)) as answer:
            yield answer.status, _joined(answer.headers), answer.iter_stream()
    except _FAILURES as error:
        raise no_reply(method, url, error) from error


def _handled(
    call: Call, method: str, url: httpcore.URL, fields: Mapping[str, str], body: bytes | None
) -> httpcore.Response:
    headers = [("Host", _authority(url)), *fields.items()]
    if body is not None:
        headers.append(("Content-Length", str(len(body))))
    pool = httpcore.ConnectionPool(
        ssl_context=_ssl_context() if url.scheme == b"https" else None,
        max_keepalive_connections=0,
        network_backend=_Backend(call),
    )
    return pool.handle_request(httpcore.Request(method, url, headers=headers, content=body))


def _parsed(url: str) -> httpcore.URL:
    try:
        address = httpcore.URL(url)
    except ValueError as error:
        raise httpcore.UnsupportedProtocol("this is no address") from error
    if not address.host or b" " in address.host:
        raise httpcore.UnsupportedProtocol("the address names no host")
    return address


def _authority(address: httpcore.URL) -> str:
    """Return the host, and the port unless it is the usual one of the scheme."""
    host = address.host.decode()
    host = f"[{host}]" if ":" in host else host
    is_usual = address.port in (None, _DEFAULT_PORTS.get(address.scheme))
    return host if is_usual else f"{host}:{address.port}"


def _joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return header fields by their names in lower case, repeated ones as one list."""
    fields: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields


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
