"""Bearer tokens and the four roles. Only SHA-256 hashes are stored; a token is shown once.

viewer reads estimates, analyst may also spend budget, admin may do everything; relay stands apart:
it may only upload more than one report a request. Devices carry no token.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from deniable_shared.epochs import Clock

__all__ = ["ROLES", "Token", "TokenStore", "Tokens", "allows"]

ROLES = ("viewer", "analyst", "admin", "relay")
PREFIX = "dn_"
MAX_LABEL_CHARACTERS = 64
_RANK = {"viewer": 1, "analyst": 2, "admin": 3}
_LONGEST_HEADER = 128  # "Bearer dn_" and 43 characters: anything longer is not ours


@dataclass(frozen=True, slots=True)
class Token:
    """What the store knows of a token: everything but the token. Times are unix seconds."""

    id: str
    role: str
    label: str
    hash: bytes
    created: int
    expires: int | None = None
    revoked: int | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"role must be one of {', '.join(ROLES)}, got {self.role!r}")
        if not (0 < len(self.label) <= MAX_LABEL_CHARACTERS and self.label.isprintable()):
            raise ValueError(
                f"label must be 1 to {MAX_LABEL_CHARACTERS} printable characters, "
                f"got {self.label[: MAX_LABEL_CHARACTERS + 1]!r}"
            )

    def valid(self, now: float) -> bool:
        """Neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)


class TokenStore(Protocol):
    """The part of a store that keeps tokens."""

    def add_token(self, token: Token) -> None: ...
    def tokens(self) -> Sequence[Token]: ...
    def revoke_token(self, token_id: str, now: float) -> bool: ...
    def find_token(self, token_hash: bytes) -> Token | None: ...


def allows(role: str, needed: str) -> bool:
    """Whether `role` covers `needed`: viewer < analyst < admin; relay covers only itself."""
    if "relay" in (role, needed):
        return role == needed
    return _RANK[role] >= _RANK[needed]


class Tokens:
    """Makes, recognizes, lists and revokes tokens."""

    def __init__(self, store: TokenStore, *, clock: Clock = time.time) -> None:
        self._store = store
        self._clock = clock

    def create(self, role: str, label: str, *, expires: float | None = None) -> tuple[str, str]:
        """(id, token). The token is not kept: whoever loses it makes another.

        `expires` is in unix seconds; None never expires. Raises ValueError for an unknown role, a
        bad label or an expiry in the past.
        """
        now = self._clock()
        if expires is not None and expires <= now:
            raise ValueError(f"expires must lie after now ({int(now)}), got {int(expires)}")
        secret = PREFIX + secrets.token_urlsafe(32)
        token = Token(
            id=secrets.token_hex(6),
            role=role,
            label=label,
            hash=_hash(secret),
            created=int(now),
            expires=None if expires is None else int(expires),
        )
        self._store.add_token(token)
        return token.id, secret

    def authenticate(self, header: str | None) -> Token | None:
        """The valid token an Authorization header carries, or None."""
        secret = _bearer(header)
        if secret is None:
            return None
        wanted = _hash(secret)
        token = self._store.find_token(wanted)
        if token is None or not hmac.compare_digest(token.hash, wanted):
            return None
        return token if token.valid(self._clock()) else None

    def list(self) -> Sequence[Token]:
        """Every token ever made, oldest first."""
        return self._store.tokens()

    def revoke(self, token_id: str) -> bool:
        """Make a token invalid from now on; False when there is no such token."""
        return self._store.revoke_token(token_id, self._clock())


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _bearer(header: str | None) -> str | None:
    if header is None or len(header) > _LONGEST_HEADER:
        return None
    scheme, _, secret = header.partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer" or not (secret.startswith(PREFIX) and secret.isascii()):
        return None
    return secret
