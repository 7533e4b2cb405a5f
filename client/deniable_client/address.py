"""Addresses of the aggregator: which origins an app may use, and the URL of each resource."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable_client.errors import ConfigurationError
from deniable_shared.errors import ManifestError
from deniable_shared.manifest.ingest_origins import MAX_ORIGINS, parse_origins

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["Address", "parse_address", "parse_addresses", "parse_trust", "route"]

_URL = re.compile(r"(?P<origin>[A-Za-z]+://[^/?#@]+)(?P<path>(?:/[A-Za-z0-9._~-]+)*)/?")
_TRUST = re.compile(r"ed25519:[A-Za-z0-9_-]{43}")
_MOST_KEYS = 8


@dataclass(frozen=True, slots=True)
class Address:
    """A base URL of the aggregator. An app sends only to the origins it was built with."""

    origin: str
    path: str

    @property
    def keys(self) -> str:
        """The URL of the operator's key list."""
        return f"{self.origin}{self.path}/v1/keys"

    def log(self, first: int) -> str:
        """The URL of the operator's log, from entry number `first` on."""
        return f"{self.origin}{self.path}/v1/log?from={first}"

    def reports(self, collection: str) -> str:
        """The URL that takes reports of a collection. Ids need no quoting."""
        return f"{self.origin}{self.path}/v1/collections/{collection}/reports"

    def manifest(self, name: str) -> str:
        """The URL of the newest manifest of a name or id."""
        return f"{self.origin}{self.path}/v1/collections/{name}/manifest"


def parse_address(url: object) -> Address:
    """Return the address in `url`: https, or http on loopback.

    Raises ConfigurationError if the URL is any other.
    """
    match = _URL.fullmatch(url) if isinstance(url, str) else None
    if not match:
        raise ConfigurationError(
            'url must be like "https://telemetry.example.org", without user, query and fragment, '
            f"got {url!r:.120}"
        )
    try:
        (origin,) = parse_origins([_canonical(match["origin"])], "url")
    except ManifestError as error:
        raise ConfigurationError(str(error)) from error
    return Address(origin, match["path"])


def parse_addresses(urls: object) -> tuple[Address, ...]:
    """Return the addresses in `urls`: one URL, or a list of 1…8 with different origins.

    Raises ConfigurationError if `urls` is anything else.
    """
    given = list(urls) if isinstance(urls, list | tuple) else [urls]
    if not 1 <= len(given) <= MAX_ORIGINS:
        raise ConfigurationError(
            f"url must be one address or a list of 1…{MAX_ORIGINS}, got {len(given)}"
        )
    addresses = tuple(map(parse_address, given))
    if len({address.origin for address in addresses}) < len(addresses):
        raise ConfigurationError(f"url must name each origin once, got {urls!r:.200}")
    return addresses


def route(
    addresses: Sequence[Address], ingest: Collection[str], attempt: int = 0
) -> tuple[Address, ...]:
    """Return all addresses in the order in which to try them.

    Addresses whose origin is in `ingest` come first, in the app's order. Each attempt starts one
    address further.
    """
    named = [address for address in addresses if address.origin in ingest] or [*addresses]
    first = attempt % len(named)
    others = (address for address in addresses if address not in named)
    return (*named[first:], *named[:first], *others)


def parse_trust(trust: object) -> tuple[str, ...]:
    """Return the operator's 1…8 public keys, sorted.

    Raises ConfigurationError if `trust` is anything else.
    """
    given = [trust] if isinstance(trust, str) else trust
    keys = list(given) if isinstance(given, list | tuple) else []
    if not 1 <= len(keys) <= _MOST_KEYS or not all(map(_is_key, keys)):
        raise ConfigurationError(
            f'trust must be 1…{_MOST_KEYS} keys like "ed25519:" and 43 more characters, '
            f"as `deniable init` prints it, got {trust!r:.120}"
        )
    return tuple(sorted(set(keys)))


def _is_key(key: object) -> bool:
    return isinstance(key, str) and _TRUST.fullmatch(key) is not None


def _canonical(origin: str) -> str:
    scheme, _, host = origin.lower().partition("://")
    return f"{scheme}://{host.removesuffix({'https': ':443', 'http': ':80'}.get(scheme, ''))}"
