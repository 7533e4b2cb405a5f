"""Where reports may be sent: `ingest` origins, https anywhere, http on loopback only."""

from __future__ import annotations

import re

from deniable_shared.errors import ManifestError
from deniable_shared.wire.canonical import quote

MAX_ORIGINS = 8

_NAME = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_ORIGIN = re.compile(
    rf"(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]{{2,45}}\]|{_NAME}(?:\.{_NAME})*)"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?"
)
_LOOPBACK = re.compile(rf"localhost|\[::1\]|127\.{_BYTE}\.{_BYTE}\.{_BYTE}")
_MAX_HOST = 253
_MAX_PORT = 65_535
_DEFAULT_PORTS = {"https": "443", "http": "80"}


def parse_origins(value: object, field: str = "ingest") -> tuple[str, ...]:
    """Return 1…8 different origins, like "https://telemetry.example.org".

    Raises ManifestError for anything else.
    """
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= MAX_ORIGINS:
        raise ManifestError(
            f"{field} must be a list of 1…{MAX_ORIGINS} origins, got {quote(value)}"
        )
    origins = tuple(_origin(origin, field) for origin in value)
    if len(set(origins)) != len(origins):
        raise ManifestError(f"{field} must name each origin once, got {quote(list(origins))}")
    return origins


def is_loopback(origin: str) -> bool:
    """Whether a parsed origin is this machine: 127.0.0.0/8, ::1 or localhost."""
    match = _ORIGIN.fullmatch(origin)
    return match is not None and _LOOPBACK.fullmatch(match["host"]) is not None


def _origin(value: object, field: str) -> str:
    match = _ORIGIN.fullmatch(value) if isinstance(value, str) else None
    if not match or not _host_exists(match["host"]) or not _port_is_canonical(match):
        raise ManifestError(
            f'{field} must hold origins like "https://telemetry.example.org": a scheme, a host in '
            f"lower case, a port unless it is the usual one, no path, no user; got {quote(value)}"
        )
    if match["scheme"] == "http" and not _LOOPBACK.fullmatch(match["host"]):
        raise ManifestError(
            f"{field} must be https; http only on loopback (127.0.0.0/8, [::1], localhost), "
            f"got {quote(value)}"
        )
    return match[0]


def _port_is_canonical(match: re.Match[str]) -> bool:
    port = match["port"]
    return port is None or (int(port) <= _MAX_PORT and port != _DEFAULT_PORTS[match["scheme"]])


def _host_exists(host: str) -> bool:
    if not host.startswith("["):
        return len(host) <= _MAX_HOST
    from ipaddress import AddressValueError, IPv6Address

    try:
        return str(IPv6Address(host[1:-1])) == host[1:-1]
    except AddressValueError:
        return False
