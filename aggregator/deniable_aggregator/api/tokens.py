"""Tokens: list, make, revoke."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from flask import Blueprint, Response

from deniable_aggregator.api.operations import operation
from deniable_aggregator.documents.access import (
    CreatedTokenDocument,
    NewToken,
    TokenDocument,
    TokensDocument,
)
from deniable_aggregator.problem import Problem, refuse
from deniable_aggregator.web.application import JSON, answer, service

__all__ = ["blueprint", "ids_of", "made_token", "require_printable", "token_revoked"]

blueprint = Blueprint("tokens", __name__)

DAY_SECONDS = 86_400


@blueprint.get("/v1/tokens")
@operation(tag="admin", role="admin", answers={200: {JSON: (TokensDocument,)}})
def tokens() -> Response:
    """Every token ever made, without the tokens themselves."""
    listed = service().tokens.list()
    return answer(
        TokensDocument(msgspec.convert(listed, list[TokenDocument], from_attributes=True))
    )


@blueprint.post("/v1/tokens")
@operation(
    act="token-made",
    tag="admin",
    role="admin",
    body=NewToken,
    answers={201: {JSON: (CreatedTokenDocument,)}},
    problems=("unknown-collection",),
)
def create_token(body: NewToken) -> Response:
    """Make a token. It is shown in this answer and never again: only its SHA-256 is kept.

    With `collections` it is limited to what is about these; a name stands for what it means now.
    """
    return answer(made_token(body), 201)


@blueprint.delete("/v1/tokens/<token_id>")
@operation(
    act="token-revoked",
    tag="admin",
    role="admin",
    answers={204: {}},
    problems=("not-found",),
)
def revoke_token(token_id: str) -> Response:
    """Make a token invalid from now on. Revoking it again changes nothing."""
    token_revoked(token_id)
    return Response(status=204)


def made_token(body: NewToken) -> CreatedTokenDocument:
    """The token itself is in this document and nowhere else."""
    require_printable("label", body.label)
    expires = None
    if body.expires_days is not None:
        expires = int(service().clock()) + body.expires_days * DAY_SECONDS
    scope = ids_of(body.collections)
    token_id, secret = service().tokens.create(
        body.role, body.label, expires=expires, collections=scope
    )
    return CreatedTokenDocument(
        id=token_id,
        role=body.role,
        label=body.label,
        collections=scope,
        token=secret,
        expires=expires,
    )


def token_revoked(token_id: str) -> None:
    """From now on; Problem("not-found")."""
    if not service().tokens.revoke(token_id):
        raise Problem(
            "not-found", f"no token has the id {token_id[:64]!r}; GET /v1/tokens lists them"
        )


def ids_of(collections: Sequence[str] | None) -> list[str] | None:
    """The ids of collections given by id or name, in order; UnknownCollection."""
    if collections is None:
        return None
    return sorted({service().registry.get(each).id for each in collections})


def require_printable(argument: str, text: str) -> None:
    """What is shown in lists and logs must not forge a line of them."""
    if not text.isprintable():
        raise refuse(argument, accepted="printable characters only", given=text)
