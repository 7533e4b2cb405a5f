"""Reads a provider's endpoints and signing keys, and caches them for an hour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from deniable_aggregator.base.errors import ProviderUnavailableError, SignInError

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

    from deniable_aggregator.web.auth.outage import Outage
    from deniable_shared.manifest.epochs import Clock

KEPT_SECONDS = 3_600
LEAST_SECONDS = 60
"""A token with an unknown key makes us fetch the keys again, after this many seconds at least."""

Documents = tuple[Mapping[str, Any], Mapping[str, Any]]
"""The issuer's metadata, and its keys."""

LONGEST = 1 << 20
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Discovery:
    """The documents of one issuer. Thread-safe."""

    def __init__(self, issuer: str, *, clock: Clock, outage: Outage) -> None:
        self._issuer = issuer
        self._clock = clock
        self._lane = outage.lane(at_once=1)
        self._kept: tuple[Documents, float] | None = None

    def endpoint(self, name: str) -> str:
        """The address of an endpoint. Raises SignInError if the provider has none."""
        return _address(self._current()[0], name)

    def authentication(self, *, confidential: bool) -> str:
        """How the client authenticates: with its secret, or not at all."""
        if not confidential:
            return "none"
        methods = self._current()[0].get("token_endpoint_auth_methods_supported")
        posts = isinstance(methods, list) and "client_secret_basic" not in methods
        return "client_secret_post" if posts else "client_secret_basic"

    def key_sets(self) -> Iterator[KeySet]:
        """The cached keys of the issuer; then, if the caller continues, the keys it lists now."""
        yield _keys(self._current()[1])
        yield _keys(self._current(newer_than=LEAST_SECONDS)[1])

    def _current(self, newer_than: float = KEPT_SECONDS) -> Documents:
        """Documents younger than `newer_than` seconds. May raise ProviderUnavailableError."""
        now, kept = self._clock(), self._kept
        if kept is not None and now - kept[1] < newer_than:
            return kept[0]
        with self._lane.request():
            documents = self._fetched()
        self._kept = documents, now
        return documents

    def _fetched(self) -> Documents:
        document = _json(self._issuer.rstrip("/") + "/.well-known/openid-configuration")
        if document.get("issuer") != self._issuer:
            raise SignInError("the provider's document names another issuer")
        return document, _json(_address(document, "jwks_uri"))


def _address(document: Mapping[str, Any], name: str) -> str:
    address = document.get(name)
    parts = urlsplit(address) if isinstance(address, str) else urlsplit("")
    if parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise SignInError(f"the provider's document has no {name} over https")
    return str(address)


def _json(address: str) -> Mapping[str, Any]:
    import httpx

    try:
        answer = httpx.get(address, timeout=10.0).raise_for_status()
        document = answer.json() if len(answer.content) <= LONGEST else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise ProviderUnavailableError("the provider's documents cannot be read") from error
    if not isinstance(document, dict):
        raise SignInError("the provider's documents are not JSON objects")
    return document


def _keys(document: Mapping[str, Any]) -> KeySet:
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    listed = document.get("keys")
    usable = [
        key
        for key in (listed if isinstance(listed, list) else [])
        if isinstance(key, dict) and key.get("use", "sig") == "sig" and key.get("kty") != "oct"
    ]
    try:
        return KeySet.import_key_set({"keys": usable})
    except (JoseError, KeyError, TypeError, ValueError) as error:
        raise SignInError("the provider's keys cannot be read") from error
