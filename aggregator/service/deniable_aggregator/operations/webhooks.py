"""Sends one signed POST to a public https address and reads only its status.

The name is resolved only once, and the connection goes to the checked address: a name that changes
a moment later cannot lead elsewhere. Redirects are not followed.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
import ssl
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deniable_aggregator.base.errors import AggregatorError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_URL = 500
SECONDS = 10.0
"""Seconds for connecting, the TLS handshake, sending and the first line of the answer together.

The name is resolved before: the system's resolver takes no limit.
"""

MAX_STATUS_LINE = 1_024
SIGNATURE = "Deniable-Signature"
_NAT64 = ipaddress.ip_network("64:ff9b::/32")


class WebhookError(AggregatorError):
    """The call failed; the message says why, without the answer's body."""


@dataclass(frozen=True, slots=True)
class Place:
    """Host, port and path of an https address."""

    host: str
    port: int
    path: str


def place_of(url: str) -> Place:
    """The parts of a plain https address. Raises ValueError with the accepted form."""
    parts = urlsplit(url)
    plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= MAX_URL
    if not plain or parts.scheme != "https" or not parts.hostname:
        raise ValueError(f"must be an https address of at most {MAX_URL} ASCII characters")
    if not _is_host_name(parts.hostname):
        raise ValueError(
            "must be an https address whose host name has 1 to 63 characters between its dots"
        )
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise ValueError("must have no user name, password or fragment")
    path = parts.path or "/"
    return Place(parts.hostname, parts.port or 443, path + (f"?{parts.query}" * bool(parts.query)))


def _is_host_name(host: str) -> bool:
    """Whether `getaddrinfo` takes this name: for others it raises UnicodeError."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True


def is_public(address: str) -> bool:
    """Whether an IP address is public, also if it is embedded in another address."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return is_public(str(ip.ipv4_mapped))
        if ip.sixtofour is not None or ip.teredo is not None or ip in _NAT64:
            return False
    return ip.is_global and not ip.is_multicast


def resolved(host: str, port: int) -> list[str]:
    """The IP addresses of a name. Raises WebhookError if there are none."""
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise WebhookError(f"{host} has no address") from error
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


def public_address(place: Place, addresses: Sequence[str]) -> str:
    """The first address. Raises WebhookError unless all are public."""
    private = [address for address in addresses if not is_public(address)]
    if private or not addresses:
        raise WebhookError(f"{place.host} has an address that is not public")
    return addresses[0]


def signature(secret: bytes, body: bytes, now: float) -> str:
    """`t=…,v1=…`: HMAC-SHA256 over the time, a dot and the body."""
    stamp = str(int(now))
    digest = hmac.new(secret, stamp.encode() + b"." + body, sha256).hexdigest()
    return f"t={stamp},v1={digest}"


class WebhookSender:
    """Sends calls; a test injects names and connections."""

    def __init__(
        self,
        *,
        resolve: Callable[[str, int], Sequence[str]] = resolved,
        connect: Callable[[str, int, float], socket.socket] | None = None,
        context: ssl.SSLContext | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resolve = resolve
        self._connect = connect or _connect
        self._context = context or ssl.create_default_context()
        self._monotonic = monotonic

    def send(self, url: str, body: bytes, *, secret: bytes, now: float) -> None:
        """Raises WebhookError unless the answer is 2xx, in SECONDS after the name is resolved."""
        try:
            place = place_of(url)
        except ValueError as error:  # stored before this form was refused
            raise WebhookError(f"url {error}") from error
        address = public_address(place, self._resolve(place.host, place.port))
        until = self._monotonic() + SECONDS
        try:
            with self._connect(address, place.port, SECONDS) as plain:
                plain.settimeout(self._left(until))
                with self._context.wrap_socket(plain, server_hostname=place.host) as connection:
                    connection.settimeout(self._left(until))
                    connection.sendall(_request(place, body, signature(secret, body, now)))
                    status = self._status(connection, until)
        except (OSError, ValueError) as error:
            raise WebhookError(f"{place.host} did not answer: {type(error).__name__}") from error
        if not 200 <= status < 300:
            raise WebhookError(f"{place.host} answered {status}")

    def _status(self, connection: socket.socket, until: float) -> int:
        """The status of an HTTP answer. Raises ValueError for no answer, TimeoutError if late."""
        line = b""
        while b"\n" not in line and len(line) < MAX_STATUS_LINE:
            connection.settimeout(self._left(until))
            part = connection.recv(MAX_STATUS_LINE)
            if not part:
                break
            line += part
        version, _, rest = line.partition(b" ")
        if not version.startswith(b"HTTP/1."):
            raise ValueError("not an HTTP/1 answer")
        return int(rest[:3])

    def _left(self, until: float) -> float:
        """Seconds until the deadline. Raises TimeoutError if it is over."""
        left = until - self._monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def _connect(address: str, port: int, seconds: float) -> socket.socket:
    return socket.create_connection((address, port), timeout=seconds)


def _request(place: Place, body: bytes, signed: str) -> bytes:
    host = f"[{place.host}]" if ":" in place.host else place.host
    head = (
        f"POST {place.path} HTTP/1.1\r\n"
        f"Host: {host}{'' if place.port == 443 else f':{place.port}'}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n"
        "User-Agent: deniable\r\n"
        f"{SIGNATURE}: {signed}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
