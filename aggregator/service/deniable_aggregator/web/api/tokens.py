"""Tokens: list, make, revoke."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response

from deniable_aggregator.access import changes
from deniable_aggregator.documents.access import (
    CreatedTokenDocument,
    NewToken,
    TokensDocument,
)
from deniable_aggregator.queries import access
from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import JSON, answer, service

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry

blueprint = Blueprint("tokens", __name__)


@blueprint.get("/v1/tokens")
@operation(tag="admin", role="admin", answers={200: {JSON: (TokensDocument,)}})
def tokens() -> Response:
    """Every token ever made, without the tokens themselves."""
    return answer(access.tokens(service().tokens))


@blueprint.post("/v1/tokens")
@operation(
    act="token-made",
    tag="admin",
    role="admin",
    body=NewToken,
    answers={201: {JSON: (CreatedTokenDocument,)}},
    problems=("unknown-collection",),
)
def create_token(body: NewToken, audit: AuditEntry) -> Response:
    """Make a token. Only this answer contains it: the service stores its SHA-256.

    With `collections` it may only use these. A name means its present collection.
    """
    scope = service().registry.ids_of(body.collections)
    made = changes.make_token(
        service().tokens, body, scope=scope, now=service().clock(), audit=audit
    )
    return answer(made, 201)


@blueprint.delete("/v1/tokens/<token_id>")
@operation(
    act="token-revoked",
    tag="admin",
    role="admin",
    answers={204: {}},
    problems=("not-found",),
)
def revoke_token(token_id: str, audit: AuditEntry) -> Response:
    """Make a token invalid at once. Revoking it again changes nothing."""
    changes.revoke_token(service().tokens, token_id, audit=audit)
    return Response(status=204)
