"""What an administrator does about access, by the API or by a page: one function an act.

A Problem says what is wrong in the caller's words. The caller gives the audit entry; the store
appends it with the act.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.access.sessions import LINK_SECONDS, SignInSessions
from deniable_aggregator.documents.access import (
    CreatedLinkDocument,
    CreatedTokenDocument,
    NewLink,
    NewToken,
    NewUser,
)
from deniable_gateway.problem import Problem, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deniable_aggregator.access.audit import AuditEntry
    from deniable_aggregator.access.tokens import Tokens
    from deniable_aggregator.access.users import Users

DAY_SECONDS = 86_400
_NOT_IN_PATHS = frozenset("/\\%")


def make_token(
    tokens: Tokens,
    new: NewToken,
    *,
    scope: Sequence[str] | None,
    now: float,
    audit: AuditEntry | None,
) -> CreatedTokenDocument:
    """The token itself is in this document and nowhere else.

    `scope` has the ids of the collections that it is limited to; None: all. `now` in unix seconds.
    """
    _require_printable("label", new.label)
    expires = None
    if new.expires_days is not None:
        expires = int(now) + new.expires_days * DAY_SECONDS
    token_id, secret = tokens.create(
        new.role, new.label, expires=expires, collections=scope, audit=audit
    )
    return CreatedTokenDocument(
        id=token_id,
        role=new.role,
        label=new.label,
        collections=None if scope is None else list(scope),
        token=secret,
        expires=expires,
    )


def revoke_token(tokens: Tokens, token_id: str, *, audit: AuditEntry | None) -> None:
    """Make a token invalid from now on. Raises Problem("not-found")."""
    if not tokens.revoke(token_id, audit=audit):
        raise Problem(
            "not-found", f"no token has the id {token_id[:64]!r}; GET /v1/tokens lists them"
        )


def add_user(
    users: Users, new: NewUser, *, scope: Sequence[str] | None, audit: AuditEntry | None
) -> None:
    """Let a person sign in with a password. Raises Problem("conflict") where the name is taken."""
    _require_printable("name", new.name)
    _require_removable(new.name)
    if not users.add(new.name, new.role, new.password, collections=scope, audit=audit):
        raise Problem("conflict", f"there is a user {new.name!r} already: remove that one first")


def remove_user(users: Users, name: str, *, audit: AuditEntry | None) -> None:
    """Remove a name with its sessions and links. Raises Problem("not-found")."""
    if not users.remove(name, audit=audit):
        raise Problem(
            "not-found",
            f"no user, session or link has the name {name[:64]!r}; GET /v1/users and "
            "GET /v1/sessions list them",
        )


def end_session(sessions: SignInSessions, session_id: str, *, audit: AuditEntry | None) -> None:
    """Sign a person out, from the next request on. Raises Problem("not-found")."""
    if not sessions.end(session_id, audit=audit):
        raise Problem(
            "not-found", f"no session has the id {session_id[:64]!r}; GET /v1/sessions lists them"
        )


def make_link(
    sessions: SignInSessions,
    new: NewLink,
    *,
    scope: Sequence[str] | None,
    now: float,
    path_of: Callable[[str], str],
    audit: AuditEntry | None,
) -> CreatedLinkDocument:
    """The link is in this document and nowhere else; `path_of` spells its secret as a path."""
    _require_printable("name", new.name)
    secret = sessions.make_link(new.name, new.role, scope, audit=audit)
    return CreatedLinkDocument(path=path_of(secret), expires=int(now) + LINK_SECONDS)


def _require_printable(argument: str, text: str) -> None:
    """What is shown in lists and logs must not forge a line of them."""
    if not text.isprintable():
        raise refuse(argument, accepted="printable characters only", given=text)


def _require_removable(name: str) -> None:
    """Refuses a name that `DELETE /v1/users/{name}` cannot spell."""
    if name in {".", ".."} or not _NOT_IN_PATHS.isdisjoint(name):
        raise refuse(
            "name",
            accepted="without a slash, backslash or percent sign, and not . or ..",
            given=name,
        )
