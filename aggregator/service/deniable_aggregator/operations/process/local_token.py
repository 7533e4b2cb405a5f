"""An admin token for one command that opens the directory itself: in memory, never written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.access.tokens import Tokens, TokenStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.access.rows import Token
    from deniable_aggregator.operations.service import Service

LABEL = "command line"


class WithLocalToken:
    """A token store that keeps the first added token in memory."""

    def __init__(self, store: TokenStore) -> None:
        self._store = store
        self._local: Token | None = None

    def add_token(self, token: Token, *, audit: AuditEntry | None) -> None:
        """Keep the first token in memory, store the others."""
        if self._local is None:
            self._local = token
        else:
            self._store.add_token(token, audit=audit)

    def tokens(self) -> Sequence[Token]:
        """The stored tokens."""
        return self._store.tokens()

    def revoke_token(self, token_id: str, now: float, *, audit: AuditEntry | None) -> bool:
        """Revoke a stored token."""
        return self._store.revoke_token(token_id, now, audit=audit)

    def find_token(self, token_hash: bytes) -> Token | None:
        """The local token or a stored one."""
        if self._local is not None and self._local.hash == token_hash:
            return self._local
        return self._store.find_token(token_hash)


def admit(service: Service) -> str:
    """A token for this process's own requests to `service`; it ends with the service."""
    service.tokens = Tokens(WithLocalToken(service.store), clock=service.clock)
    return service.tokens.create("admin", LABEL, audit=None)[1]
