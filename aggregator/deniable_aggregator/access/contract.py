"""What a store keeps of tokens, users, sessions, one-time links and the audit log.

Every change here is one transaction; what `audit.acting` announces is appended to the audit log in
the transaction that does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from deniable_aggregator.access.rows import AuditRow, LinkRow, SessionRow, Token, User

__all__ = ["AccessStore"]


class AccessStore(Protocol):
    """Thread-safe. What writes is durable when it returns, or raises having changed nothing."""

    def add_token(self, token: Token) -> None: ...

    def tokens(self) -> list[Token]:
        """Every token ever made, oldest first."""
        ...

    def revoke_token(self, token_id: str, now: float) -> bool:
        """Invalid from now on; False if there is no such token. The first time stays."""
        ...

    def find_token(self, token_hash: bytes) -> Token | None: ...

    def add_user(self, user: User) -> bool:
        """False, and nothing kept, where somebody has the name."""
        ...

    def users(self) -> list[User]:
        """In the order they were added."""
        ...

    def find_user(self, name: str) -> User | None: ...

    def remove_user(self, name: str) -> bool:
        """With all sessions and links of that name; False where there was none of the three."""
        ...

    def add_session(self, row: SessionRow) -> bool:
        """Keep it. One that began with a password is kept only while the user is there."""
        ...

    def sessions(self) -> list[SessionRow]:
        """Oldest first, those over included until `forget_access`."""
        ...

    def find_session(self, session_hash: bytes) -> SessionRow | None: ...

    def end_session(self, session_id: str) -> bool:
        """False if there is no such session."""
        ...

    def add_link(self, row: LinkRow) -> None: ...

    def use_link(self, link_hash: bytes, session: SessionRow, *, now: float) -> bool:
        """Delete a link that still holds and keep the session it begins, in one transaction.

        False, and nothing kept, for a link that is unknown, used or over: of many at once one wins.
        """
        ...

    def find_link(self, link_hash: bytes) -> LinkRow | None: ...

    def forget_access(self, now: float) -> None:
        """Delete sessions and links that are over."""
        ...

    def record_act(self) -> None:
        """Append the entry of this act, if it is under way; it changes nothing else here."""
        ...

    def audit(self, first: int = 0) -> Sequence[AuditRow]:
        """Entries from index `first` on, at most AUDIT_PAGE."""
        ...

    def audit_head(self) -> tuple[int, str]:
        """Number of entries and the head in hex."""
        ...
