"""An OpenID provider that can lie in any single point.

It signs with RSA by hand (cryptography), keeps codes once and checks PKCE and the client's secret.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

__all__ = ["CLIENT", "SECRET", "IdentityProvider", "serving"]

CLIENT, SECRET = "deniable", "the client's secret"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int) -> str:
    return base64url(value.to_bytes((value.bit_length() + 7) // 8, "big"))


@dataclass
class IdentityProvider:
    """An honest provider; `claims` replace true claims, and None removes one."""

    issuer: str = ""
    now: float = 0.0
    claims: dict[str, Any] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=lambda: {"alg": "RS256", "kid": "one"})
    document: dict[str, Any] = field(default_factory=dict)
    signed_by: str = "one"
    tamper: bool = False
    answer: dict[str, Any] | None = None
    keys: dict[str, rsa.RSAPrivateKey] = field(default_factory=dict)
    listed: list[str] = field(default_factory=lambda: ["one"])
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("one", "two"):
            self.keys[name] = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def forget(self, now: float) -> None:
        """Be honest again."""
        self.now, self.claims, self.document = now, {}, {}
        self.header, self.listed = {"alg": "RS256", "kid": "one"}, ["one"]
        self.signed_by, self.tamper, self.answer = "one", False, None
        self.codes, self.asked = {}, []

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        } | self.document

    def key_list(self) -> dict[str, Any]:
        numbers = {name: self.keys[name].public_key().public_numbers() for name in self.listed}
        return {
            "keys": [
                {"kty": "RSA", "use": "sig", "kid": name, "n": number(key.n), "e": number(key.e)}
                for name, key in numbers.items()
            ]
        }

    def authorize(self, query: dict[str, str]) -> str:
        """Where the browser is sent back to; every caller is signed in at once."""
        self.asked.append(query)
        assert query["code_challenge_method"] == "S256"
        assert (query["response_type"], query["client_id"]) == ("code", CLIENT)
        code = secrets.token_urlsafe(8)
        self.codes[code] = query
        given = {"code": code, "state": query["state"], "iss": self.issuer}
        return f"{query['redirect_uri']}?{urlencode(given)}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """The answer to a code, or None where code, verifier, address or client is wrong."""
        if self.answer is not None:
            return self.answer
        asked = self.codes.pop(form.get("code", ""), None)
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if asked is None or not hmac.compare_digest(authorization, f"Basic {basic}"):
            return None
        challenge = base64url(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        same = (asked["code_challenge"], asked["redirect_uri"])
        if same != (challenge, form.get("redirect_uri")):
            return None
        return {"access_token": "x", "token_type": "Bearer", "id_token": self.id_token(asked)}

    def id_token(self, asked: dict[str, str]) -> str:
        true = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "248289761001",
            "nonce": asked["nonce"],
            "iat": int(self.now),
            "exp": int(self.now) + 300,
            "preferred_username": "ana",
            "groups": ["staff"],
        }
        result = {name: value for name, value in (true | self.claims).items() if value is not None}
        parts = [base64url(json.dumps(part).encode()) for part in (self.header, result)]
        signed = ".".join(parts).encode()
        if self.header["alg"] == "none":
            signature = b""
        elif self.header["alg"] == "HS256":  # with the public key as if it were a shared secret
            signature = hmac.digest(json.dumps(self.key_list()).encode(), signed, hashlib.sha256)
        else:
            key = self.keys[self.signed_by]
            signature = key.sign(signed, padding.PKCS1v15(), hashes.SHA256())
        if self.tamper:
            parts[1] = base64url(json.dumps(result | {"groups": ["admins"]}).encode())
        return ".".join([*parts, base64url(signature)])


def _handler(provider: IdentityProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if parts.path == "/authorize":
                self.send_response(303)
                self.send_header("Location", provider.authorize(query))
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif parts.path == "/keys":
                self.answer(provider.key_list())
            else:
                self.answer(provider.discovery())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            answer = provider.token(form, self.headers.get("Authorization", ""))
            self.answer(answer or {"error": "invalid_grant"}, 200 if answer else 400)

        def answer(self, document: dict[str, Any], status: int = 200) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    return Handler


@contextmanager
def serving(now: float) -> Iterator[IdentityProvider]:
    """A provider that answers until the block ends."""
    provider = IdentityProvider(now=now)
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(provider)) as server:
        provider.issuer = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
