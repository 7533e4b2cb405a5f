"""OpenID Connect sign-in: authorization code with PKCE.

Authlib speaks OAuth to the provider, joserfc checks signatures. An ID token is accepted only if a
key of the issuer signed it with an asymmetric algorithm, and its iss, aud, azp, exp, iat and nonce
are correct (OpenID Connect Core 1.0 §3.1.3.7, RFC 7636, RFC 9207).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deniable_aggregator.access.sessions import SECRET_CHARACTERS
from deniable_aggregator.base.errors import ProviderUnavailableError, SignInError
from deniable_aggregator.web.auth.claims import Person, checked, person_of
from deniable_aggregator.web.auth.discovery import Discovery
from deniable_aggregator.web.auth.outage import Outage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deniable_aggregator.base.settings import Settings
    from deniable_shared.manifest.epochs import Clock

DONE = "/sign-in/provider/done"
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"]
"""Asymmetric algorithms only: not "none", and none with a shared key."""


REDEEMED_AT_ONCE = 4
"""Codes that are redeemed at once; `flask_threads` has one more place, which refuses others."""


class Provider:
    """The provider that the settings name. Thread-safe."""

    def __init__(self, settings: Settings, *, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        outage = Outage(clock=clock)
        self._discovery = Discovery(settings.oidc_issuer, clock=clock, outage=outage)
        self._lane = outage.lane(at_once=REDEEMED_AT_ONCE)

    def address(self, secret: str, wanted: str) -> str:
        """The provider's address for a browser with this cookie that wants that page.

        Raises SignInError, or ProviderUnavailableError if a later attempt may succeed.
        """
        way = _Way(secret)
        with self._client() as client:
            address, _ = client.create_authorization_url(
                self._discovery.endpoint("authorization_endpoint"),
                state=way.state(wanted),
                code_verifier=way.verifier,
                nonce=way.nonce,
            )
        return str(address)

    def redeem(self, secret: str, query: Mapping[str, str]) -> tuple[Person, str]:
        """The person who returns with this cookie and query, and the page. Raises SignInError."""
        if len(secret) != SECRET_CHARACTERS:
            raise SignInError("the browser has no cookie of this sign-in: begin again at /sign-in")
        way = _Way(secret)
        wanted = way.page_of(query.get("state", ""))
        if query.get("iss", self._settings.oidc_issuer) != self._settings.oidc_issuer:
            raise SignInError("the answer comes from another issuer")
        if "code" not in query:
            raise SignInError("the provider refused the sign-in")
        claims = self._verified(self._id_token(query["code"], way))
        checked(
            claims,
            issuer=self._settings.oidc_issuer,
            client=self._settings.oidc_client_id,
            nonce=way.nonce,
            now=self._clock(),
        )
        return person_of(claims, self._settings), wanted

    def _id_token(self, code: str, way: _Way) -> str:
        import httpx2
        from authlib.common.errors import AuthlibBaseError

        endpoint = self._discovery.endpoint("token_endpoint")
        try:
            with self._client() as client, self._lane.request():
                answer = _reached(
                    lambda: client.fetch_token(
                        endpoint,
                        grant_type="authorization_code",
                        code=code,
                        code_verifier=way.verifier,
                    )
                )
        except (AuthlibBaseError, httpx2.HTTPError, ValueError) as error:
            raise SignInError("the provider did not accept the code") from error
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise SignInError("the provider sent no ID token")
        return token

    def _verified(self, token: str) -> Mapping[str, Any]:
        """The claims of a token signed by one of the issuer's keys. Raises SignInError."""
        from joserfc import jwt
        from joserfc.errors import JoseError

        for keys in self._discovery.key_sets():
            try:
                return jwt.decode(token, keys, algorithms=ALGORITHMS).claims
            except (JoseError, ValueError):
                continue
        raise SignInError("the ID token is not signed by a key of the issuer")

    def _client(self) -> Any:
        from authlib.integrations.httpx_client import OAuth2Client

        settings = self._settings
        return OAuth2Client(
            client_id=settings.oidc_client_id,
            client_secret=settings.oidc_client_secret or None,
            token_endpoint_auth_method=self._discovery.authentication(
                confidential=bool(settings.oidc_client_secret)
            ),
            scope=settings.oidc_request["scope"],
            redirect_uri=settings.public_url.rstrip("/") + DONE,
            code_challenge_method="S256",
            timeout=10.0,
        )


def _reached(ask: Callable[[], Any]) -> Any:
    """The answer of `ask`. Raises ProviderUnavailableError if the provider does not answer."""
    import httpx2

    try:
        return ask()
    except httpx2.TransportError as error:
        raise ProviderUnavailableError("the provider does not answer") from error


@dataclass(frozen=True, slots=True)
class _Way:
    """The values of one sign-in, computed from the cookie of its browser."""

    secret: str

    @property
    def nonce(self) -> str:
        return self._derived("nonce")

    @property
    def verifier(self) -> str:
        return self._derived("verifier")

    def state(self, wanted: str) -> str:
        return f"{self._derived(f'state {wanted}')}.{_spelled(wanted.encode())}"

    def page_of(self, state: str) -> str:
        """The wanted page. Raises SignInError for a state of another browser."""
        try:
            spelled = state.partition(".")[2]
            wanted = base64.urlsafe_b64decode(spelled + "=" * (-len(spelled) % 4)).decode()
        except ValueError:
            wanted = ""
        if not hmac.compare_digest(self.state(wanted).encode(), state.encode("utf-8", "replace")):
            raise SignInError("the answer belongs to a sign-in of another browser")
        return wanted

    def _derived(self, label: str) -> str:
        mac = hmac.digest(self.secret.encode(), f"deniable oidc {label}".encode(), hashlib.sha256)
        return _spelled(mac)


def _spelled(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
