"""People: local users, who is signed in, and one-time links."""

from __future__ import annotations

import msgspec
from flask import Blueprint, Response, url_for

from deniable_aggregator.access.sessions import LINK_SECONDS
from deniable_aggregator.api.operations import operation
from deniable_aggregator.api.tokens import ids_of, require_printable
from deniable_aggregator.documents.access import (
    CreatedLinkDocument,
    NewLink,
    NewUser,
    SessionDocument,
    SessionsDocument,
    UserDocument,
    UsersDocument,
)
from deniable_aggregator.problem import Problem, refuse
from deniable_aggregator.web.application import JSON, answer, service

__all__ = ["blueprint", "made_link", "session_ended", "user_added", "user_removed"]

blueprint = Blueprint("users", __name__)

_NOT_IN_PATHS = frozenset("/\\%")


@blueprint.get("/v1/users")
@operation(tag="admin", role="admin", answers={200: {JSON: (UsersDocument,)}})
def users() -> Response:
    """Every local user."""
    listed = service().users.list()
    return answer(UsersDocument(msgspec.convert(listed, list[UserDocument], from_attributes=True)))


@blueprint.post("/v1/users")
@operation(
    act="user-added",
    tag="admin",
    role="admin",
    body=NewUser,
    answers={201: {JSON: (UserDocument,)}},
    problems=("conflict", "unknown-collection"),
)
def add_user(body: NewUser) -> Response:
    """Let a person sign in with a password, of which only scrypt's output is kept."""
    user_added(body)
    made = service().store.find_user(body.name)
    return answer(msgspec.convert(made, UserDocument, from_attributes=True), 201)


@blueprint.delete("/v1/users/<name>")
@operation(
    act="user-removed",
    tag="admin",
    role="admin",
    answers={204: {}},
    problems=("not-found",),
)
def remove_user(name: str) -> Response:
    """Remove a name: its password, its sessions and its unused links end at once.

    Somebody whom a provider lets in may sign in again: remove them there, too.
    """
    user_removed(name)
    return Response(status=204)


@blueprint.get("/v1/sessions")
@operation(tag="admin", role="admin", answers={200: {JSON: (SessionsDocument,)}})
def sessions() -> Response:
    """Everybody who is signed in to the pages."""
    listed = service().sessions.list()
    return answer(
        SessionsDocument(msgspec.convert(listed, list[SessionDocument], from_attributes=True))
    )


@blueprint.delete("/v1/sessions/<session_id>")
@operation(
    act="session-ended",
    tag="admin",
    role="admin",
    answers={204: {}},
    problems=("not-found",),
)
def end_session(session_id: str) -> Response:
    """Sign somebody out, from the next request on."""
    session_ended(session_id)
    return Response(status=204)


@blueprint.post("/v1/sign-in-links")
@operation(
    act="sign-in-link-made",
    tag="admin",
    role="admin",
    body=NewLink,
    answers={201: {JSON: (CreatedLinkDocument,)}},
    problems=("unknown-collection",),
)
def make_link(body: NewLink) -> Response:
    """Make a link that signs one person in, once, within 15 minutes."""
    return answer(made_link(body), 201)


def user_added(body: NewUser) -> None:
    """Problem("conflict") where somebody has the name."""
    require_printable("name", body.name)
    _require_removable(body.name)
    scope = ids_of(body.collections)
    if not service().users.add(body.name, body.role, body.password, collections=scope):
        raise Problem("conflict", f"there is a user {body.name!r} already: remove that one first")


def user_removed(name: str) -> None:
    """With sessions and links of that name; Problem("not-found")."""
    if not service().users.remove(name):
        raise Problem(
            "not-found",
            f"no user, session or link has the name {name[:64]!r}; GET /v1/users and "
            "GET /v1/sessions list them",
        )


def _require_removable(name: str) -> None:
    """Problem("invalid-argument") for a name that `DELETE /v1/users/{name}` cannot spell."""
    if name in {".", ".."} or not _NOT_IN_PATHS.isdisjoint(name):
        raise refuse(
            "name",
            accepted="without a slash, backslash or percent sign, and not . or ..",
            given=name,
        )


def session_ended(session_id: str) -> None:
    """From the next request on; Problem("not-found")."""
    if not service().sessions.end(session_id):
        raise Problem(
            "not-found", f"no session has the id {session_id[:64]!r}; GET /v1/sessions lists them"
        )


def made_link(body: NewLink) -> CreatedLinkDocument:
    """The link is in this document and nowhere else."""
    require_printable("name", body.name)
    scope = ids_of(body.collections)
    secret = service().sessions.make_link(body.name, body.role, scope)
    expires = int(service().clock()) + LINK_SECONDS
    return CreatedLinkDocument(path=url_for("signin.page", link=secret), expires=expires)
