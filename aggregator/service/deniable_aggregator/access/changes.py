"""The acts of an administrator on access, for the API and the pages: one function each.

A Problem says what is wrong in the caller's words. The caller gives the audit entry; the store
appends it with the act.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable_aggregator.access.sessions import LINK_SECONDS, SignInSessions
from deniable_aggregator.documents.access import (
    CreatedLinkDocument,
    CreatedReadLinkDocument,
    CreatedTokenDocument,
    NewLink,
    NewReadLink,
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
SHARED_PATH = "/shared"
_NOT_IN_PATHS = frozenset("/\\%")


def make_token(
    tokens: Tokens,
    new: NewToken,
    *,
    scope: Sequence[str] | None,
    now: float,
    audit: AuditEntry | None,
) -> CreatedTokenDocument:
    """Make a token. Only the returned document has the token itself.

    `scope`: ids of the collections that it is limited to, None for all. `now`: Unix seconds.
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


def make_read_link(
    tokens: Tokens, new: NewReadLink, *, collection: str, now: float, audit: AuditEntry | None
) -> CreatedReadLinkDocument:
    """Make a read-only link to a collection. Only the returned document has its secret.

    The secret is after a #, which browsers do not send to servers, so no log contains it.
    """
    body = NewToken(role="viewer", label=new.label, expires_days=new.expires_days)
    made = make_token(tokens, body, scope=[collection], now=now, audit=audit)
    path = f"{SHARED_PATH}#{made.token}"
    return CreatedReadLinkDocument(
        id=made.id, label=made.label, path=path, expires=made.expires or 0
    )


def end_read_link(
    tokens: Tokens, collection: str, link_id: str, *, audit: AuditEntry | None
) -> None:
    """End a link, and the sessions that it began. Raises Problem("not-found")."""
    links = tokens.read_links(collection)
    if link_id not in {link.id for link in links} or not tokens.revoke(link_id, audit=audit):
        raise Problem(
            "not-found",
            f"{collection} has no read-only link {link_id[:64]!r}; "
            f"GET /v1/collections/{collection}/links lists them",
        )


def revoke_token(tokens: Tokens, token_id: str, *, audit: AuditEntry | None) -> None:
    """Make a token invalid at once. Raises Problem("not-found")."""
    if not tokens.revoke(token_id, audit=audit):
        raise Problem(
            "not-found", f"no token has the id {token_id[:64]!r}; GET /v1/tokens lists them"
        )


def add_user(
    users: Users, new: NewUser, *, scope: Sequence[str] | None, audit: AuditEntry | None
) -> None:
    """Add a person with a password. Raises Problem("conflict") if the name is taken."""
    _require_printable("name", new.name)
    _require_removable(new.name)
    if not users.add(new.name, new.role, new.password, collections=scope, audit=audit):
        raise Problem("conflict", f"there is already a user {new.name!r}: remove that one first")


def remove_user(users: Users, name: str, *, audit: AuditEntry | None) -> None:
    """Remove a person with their sessions and links. Raises Problem("not-found")."""
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
    """Make a one-time link. Only the returned document has it; `path_of` makes its path."""
    _require_printable("name", new.name)
    secret = sessions.make_link(new.name, new.role, scope, audit=audit)
    return CreatedLinkDocument(path=path_of(secret), expires=int(now) + LINK_SECONDS)


def _require_printable(argument: str, text: str) -> None:
    """Raises Problem for text that could forge lines of lists or logs."""
    if not text.isprintable():
        raise refuse(argument, accepted="printable characters only", given=text)


def _require_removable(name: str) -> None:
    """Raises Problem for a name that `DELETE /v1/users/{name}` cannot address."""
    if name in {".", ".."} or not _NOT_IN_PATHS.isdisjoint(name):
        raise refuse(
            "name",
            accepted="without a slash, backslash or percent sign, and not . or ..",
            given=name,
        )
