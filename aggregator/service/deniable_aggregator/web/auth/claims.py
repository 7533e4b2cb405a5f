"""What an ID token must say, and who that makes somebody. Its signature was checked before."""

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
"""A token is made while the browser waits: an older one is not of this sign-in."""


@dataclass(frozen=True, slots=True)
class Person:
    """Whom the provider vouches for; `role` None for somebody without a role here."""

    name: str
    role: str | None


def checked(claims: Mapping[str, Any], *, issuer: str, client: str, nonce: str, now: float) -> None:
    """SignInError unless the token is of this issuer, for this client and this sign-in, and new."""
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
        raise SignInError(f"the ID token's {', '.join(wrong)} is not what it must be")


def person_of(claims: Mapping[str, Any], settings: Settings) -> Person:
    """Name and role; of several roles the one that may do most."""
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
    """A claim; dots lead into it where none has the whole name ("realm_access.roles")."""
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
