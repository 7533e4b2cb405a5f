"""Bearer tokens. Only SHA-256 hashes are stored; a token is shown only once.

Every request reads its token from the store, so a revoked token is refused at once in every
process. Devices have no token.
"""

from __future__ import annotations

import hmac
import secrets
import time
from typing import TYPE_CHECKING, Protocol

from deniable_aggregator.access.audit import AuditEntry, with_details
from deniable_aggregator.access.rows import Token
from deniable_aggregator.base.roles import scope_of
from deniable_gateway.upload.bearer import TOKEN_PREFIX, presented_hash, token_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deniable_shared.manifest.epochs import Clock


class TokenStore(Protocol):
    """The part of a store that keeps tokens."""

    def add_token(self, token: Token, *, audit: AuditEntry | None) -> None:
        """Keep one more."""

    def tokens(self) -> Sequence[Token]:
        """Every token ever made, oldest first."""

    def revoke_token(self, token_id: str, now: float, *, audit: AuditEntry | None) -> bool:
        """Revoke a token; returns False if there is none. The time of the first call stays."""

    def find_token(self, token_hash: bytes) -> Token | None:
        """The token with this hash, valid or not, or None."""


class Tokens:
    """Makes, recognizes, lists and revokes tokens."""

    def __init__(self, store: TokenStore, *, clock: Clock = time.time) -> None:
        self._store = store
        self._clock = clock

    def create(
        self,
        role: str,
        label: str,
        *,
        expires: float | None = None,
        collections: Iterable[str] | None = None,
        audit: AuditEntry | None,
    ) -> tuple[str, str]:
        """Make a token; returns (id, token). If the token is lost, make another: it is not stored.

        `expires`: Unix seconds, None for never. `collections`: ids, None for all.
        Raises ValueError for an unknown role, a bad label, an empty scope or an expiry in the past.
        """
        now = self._clock()
        if expires is not None and expires <= now:
            raise ValueError(f"expires must be after now ({int(now)}), got {int(expires)}")
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        token = Token(
            id=secrets.token_hex(6),
            role=role,
            label=label,
            hash=token_hash(secret),
            created=int(now),
            expires=None if expires is None else int(expires),
            collections=scope_of(collections),
        )
        audit = with_details(
            audit, token=token.id, role=role, label=label, collections=token.collections
        )
        self._store.add_token(token, audit=audit)
        return token.id, secret

    def authenticate(self, header: str | None) -> Token | None:
        """The valid token in an Authorization header, or None."""
        wanted = presented_hash(header)
        if wanted is None:
            return None
        token = self._store.find_token(wanted)
        if token is None or not hmac.compare_digest(token.hash, wanted):
            return None
        return token if token.valid(self._clock()) else None

    def read_link(self, secret: str) -> Token | None:
        """The valid read-only link of this secret, or None."""
        token = self.authenticate(f"Bearer {secret}")
        return token if token is not None and token.is_read_link else None

    def read_links(self, collection: str) -> Sequence[Token]:
        """Every read-only link to this collection, oldest first."""
        return [
            token
            for token in self._store.tokens()
            if token.is_read_link and token.collections == (collection,)
        ]

    def list(self) -> Sequence[Token]:
        """Every token ever made, oldest first."""
        return self._store.tokens()

    def revoke(self, token_id: str, *, audit: AuditEntry | None) -> bool:
        """Make a token invalid at once; returns False if there is none of that id."""
        return self._store.revoke_token(token_id, self._clock(), audit=audit)
