"""Access: tokens of programs, people with passwords, who is signed in, and one-time links.

A secret is in the answer to the form that made it, and nowhere else: no address shows it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from flask import Response, request
from msgspec import Meta, field

from deniable_aggregator.access import changes
from deniable_aggregator.base.roles import PEOPLE, ROLES
from deniable_aggregator.documents.access import (
    Named,
    NewLink,
    NewToken,
    NewUser,
    Password,
    PersonRole,
    Role,
)
from deniable_aggregator.documents.fields import Arguments
from deniable_aggregator.web.application import service
from deniable_aggregator.web.auth.guard import current_session, see_other
from deniable_aggregator.web.auth.signin import link_path
from deniable_aggregator.web.dashboard.admin_forms import (
    Action,
    Identifier,
    administrator,
    perform,
    read_form,
    refused_form,
)
from deniable_aggregator.web.dashboard.page import Context, Page, Post
from deniable_gateway.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable_aggregator.access.audit import AuditEntry

CollectionNames = Annotated[
    list[str], Meta(max_length=100, description="ids or names of at most 100 questions")
]


class TokenForm(Arguments, frozen=True, kw_only=True):
    """A token to make; no collections are all."""

    role: Role
    label: Named
    collections: CollectionNames = field(default_factory=list)
    expires_days: Annotated[int, Meta(ge=1, le=3650, description="1 to 3650 days")] | None = None


class LinkForm(Arguments, frozen=True, kw_only=True):
    """A person to let in once; no collections are all."""

    name: Named
    role: PersonRole
    collections: CollectionNames = field(default_factory=list)


class PersonForm(LinkForm, frozen=True, kw_only=True):
    """A person to let in by a password."""

    password: Password


def view(query: Arguments) -> Context:  # noqa: ARG001  (every view takes the query)
    """Who has access, and by what."""
    administrator()
    own = current_session()
    return {
        "tokens": sorted(
            service().tokens.list(), key=lambda token: (token.revoked is not None, -token.created)
        ),
        "users": service().users.list(),
        "sessions": service().sessions.list(),
        "own": "" if own is None else own.id,
        "roles": ROLES,
        "people": PEOPLE,
        "collection_names": {
            collection.id: collection.name for collection in service().registry.all()
        },
        "choices": {collection.id: collection.name for collection in service().registry.listed()},
    }


def act() -> Context | Response:
    """Make or end something. With a secret the page comes at once, else by a redirect."""
    try:
        secret = perform(_ACTIONS)
    except Problem as problem:
        return {**view(Arguments()), **refused_form(problem)}
    return {**view(Arguments()), **secret} if secret else see_other(request.path)


def _make_token(audit: AuditEntry) -> Context:
    token_form = read_form(TokenForm)
    body = NewToken(
        role=token_form.role,
        label=token_form.label,
        collections=token_form.collections or None,
        expires_days=token_form.expires_days,
    )
    scope = service().registry.ids_of(body.collections)
    made = changes.make_token(
        service().tokens, body, scope=scope, now=service().clock(), audit=audit
    )
    return {"made_token": made}


def _revoke_token(audit: AuditEntry) -> Context:
    token_id = read_form(Identifier).id
    audit = audit.with_details(token_id=token_id)
    changes.revoke_token(service().tokens, token_id, audit=audit)
    return {}


def _add_user(audit: AuditEntry) -> Context:
    person_form = read_form(PersonForm)
    body = NewUser(
        name=person_form.name,
        role=person_form.role,
        password=person_form.password,
        collections=person_form.collections or None,
    )
    scope = service().registry.ids_of(body.collections)
    changes.add_user(service().users, body, scope=scope, audit=audit)
    return {}


def _remove_user(audit: AuditEntry) -> Context:
    name = read_form(Identifier).id
    changes.remove_user(service().users, name, audit=audit.with_details(name=name))
    return {}


def _end_session(audit: AuditEntry) -> Context:
    session_id = read_form(Identifier).id
    audit = audit.with_details(session_id=session_id)
    changes.end_session(service().sessions, session_id, audit=audit)
    return {}


def _make_link(audit: AuditEntry) -> Context:
    link_form = read_form(LinkForm)
    body = NewLink(
        name=link_form.name, role=link_form.role, collections=link_form.collections or None
    )
    scope = service().registry.ids_of(body.collections)
    made = changes.make_link(
        service().sessions,
        body,
        scope=scope,
        now=service().clock(),
        path_of=link_path,
        audit=audit,
    )
    return {"made_link": made, "link_name": body.name}


_ACTIONS: Mapping[str, Action] = {
    "token-made": _make_token,
    "token-revoked": _revoke_token,
    "user-added": _add_user,
    "user-removed": _remove_user,
    "session-ended": _end_session,
    "sign-in-link-made": _make_link,
}

PAGE = Page(
    path="/access",
    title="Access",
    view=view,
    role="admin",
    menu=70,
    operates=True,
    post=Post("admin", act),
)
