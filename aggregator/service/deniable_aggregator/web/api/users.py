"""People: local users, who is signed in, and one-time links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response

from deniable_aggregator.access import changes
from deniable_aggregator.documents.access import (
    CreatedLinkDocument,
    NewLink,
    NewUser,
    SessionsDocument,
    UserDocument,
    UsersDocument,
)
from deniable_aggregator.queries import access
from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import JSON, answer, service
from deniable_aggregator.web.auth.signin import link_path

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry

blueprint = Blueprint("users", __name__)


@blueprint.get("/v1/users")
@operation(tag="admin", role="admin", answers={200: {JSON: (UsersDocument,)}})
def users() -> Response:
    """Every local user."""
    return answer(access.users(service().users))


@blueprint.post("/v1/users")
@operation(
    act="user-added",
    tag="admin",
    role="admin",
    body=NewUser,
    answers={201: {JSON: (UserDocument,)}},
    problems=("conflict", "unknown-collection"),
)
def add_user(body: NewUser, audit: AuditEntry) -> Response:
    """Add a person who signs in with a password. Only a scrypt hash of it is stored."""
    scope = service().registry.ids_of(body.collections)
    changes.add_user(service().users, body, scope=scope, audit=audit)
    return answer(access.user(service().store, body.name), 201)


@blueprint.delete("/v1/users/<name>")
@operation(
    act="user-removed",
    tag="admin",
    role="admin",
    answers={204: {}},
    problems=("not-found",),
)
def remove_user(name: str, audit: AuditEntry) -> Response:
    """Remove a person: their password, sessions and unused links end at once.

    A person who signs in through a provider can sign in again: remove them there, too.
    """
    changes.remove_user(service().users, name, audit=audit)
    return Response(status=204)


@blueprint.get("/v1/sessions")
@operation(tag="admin", role="admin", answers={200: {JSON: (SessionsDocument,)}})
def sessions() -> Response:
    """Every session on the pages."""
    return answer(access.sessions(service().sessions))


@blueprint.delete("/v1/sessions/<session_id>")
@operation(
    act="session-ended",
    tag="admin",
    role="admin",
    answers={204: {}},
    problems=("not-found",),
)
def end_session(session_id: str, audit: AuditEntry) -> Response:
    """Sign a person out, from the next request on."""
    changes.end_session(service().sessions, session_id, audit=audit)
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
def make_link(body: NewLink, audit: AuditEntry) -> Response:
    """Make a one-time sign-in link that works for 15 minutes."""
    scope = service().registry.ids_of(body.collections)
    made = changes.make_link(
        service().sessions,
        body,
        scope=scope,
        now=service().clock(),
        path_of=link_path,
        audit=audit,
    )
    return answer(made, 201)
