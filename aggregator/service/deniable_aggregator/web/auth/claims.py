"""Checks the claims of an ID token and reads the person from them, after the signature check."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deniable_aggregator.base.errors import SignInError
from deniable_aggregator.base.roles import MAX_NAME_CHARACTERS, PEOPLE

if TYPE_CHECKING:
    from deniable_aggregator.base.settings import Settings

LEEWAY_SECONDS = 60
OLDEST_SECONDS = 600
"""Seconds. The provider makes a token while the browser waits, so an older one is refused."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person that the provider identified; `role` is None if they have no role here."""

    name: str
    role: str | None


def checked(claims: Mapping[str, Any], *, issuer: str, client: str, nonce: str, now: float) -> None:
    """Raises SignInError unless the token is new and of this issuer, client and sign-in."""
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    facts = {
        "iss": claims.get("iss") == issuer,
        "aud": client in audiences,
        "azp": claims.get("azp", client if len(audiences) == 1 else None) == client,
        "exp": now < _time(claims, "exp") + LEEWAY_SECONDS,
        "iat": -LEEWAY_SECONDS <= now - _time(claims, "iat") <= OLDEST_SECONDS,
        "nonce": _same(claims.get("nonce"), nonce),
        "sub": isinstance(claims.get("sub"), str) and bool(claims["sub"]),
    }
    wrong = [name for name, holds in facts.items() if not holds]
    if wrong:
        raise SignInError(f"the ID token has an unexpected {', '.join(wrong)}")


def person_of(claims: Mapping[str, Any], settings: Settings) -> Person:
    """The person with name and highest role."""
    claim = _claim(claims, settings.oidc_request["role"])
    values = claim if isinstance(claim, list) else [claim]
    mapped = settings.role_of
    roles = {mapped[value] for value in values if isinstance(value, str) and value in mapped}
    name = claims.get(settings.oidc_request["name"])
    display_name = (
        name if isinstance(name, str) and name.isprintable() and name else str(claims["sub"])
    )
    if not display_name.isprintable():
        raise SignInError("the person's name is not printable")
    return Person(display_name[:MAX_NAME_CHARACTERS], max(roles, key=PEOPLE.index, default=None))


def _claim(claims: Mapping[str, Any], name: str) -> object:
    """A claim; a dotted name ("realm_access.roles") may lead into nested objects."""
    if name in claims:
        return claims[name]
    value: object = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _time(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SignInError(f"the ID token has no {name}")
    return value


def _same(given: object, wanted: str) -> bool:
    return isinstance(given, str) and hmac.compare_digest(given.encode(), wanted.encode())
