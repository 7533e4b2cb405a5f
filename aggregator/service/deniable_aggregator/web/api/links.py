"""Read-only links to one collection: list, make, end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response

from deniable_aggregator.access import changes
from deniable_aggregator.documents.access import (
    CreatedReadLinkDocument,
    NewReadLink,
    ReadLinksDocument,
)
from deniable_aggregator.queries import access
from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import JSON, answer, service

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry

blueprint = Blueprint("links", __name__)


@blueprint.get("/v1/collections/<collection>/links")
@operation(
    tag="admin",
    role="admin",
    answers={200: {JSON: (ReadLinksDocument,)}},
    problems=("unknown-collection",),
)
def read_links(collection: str) -> Response:
    """Every read-only link to the collection, without the secrets."""
    return answer(access.read_links(service().tokens, service().registry.get(collection).id))


@blueprint.post("/v1/collections/<collection>/links")
@operation(
    act="read-link-made",
    tag="admin",
    role="admin",
    body=NewReadLink,
    answers={201: {JSON: (CreatedReadLinkDocument,)}},
    problems=("unknown-collection",),
)
def make_read_link(collection: str, body: NewReadLink, audit: AuditEntry) -> Response:
    """Make a link that lets anyone who has it read this collection, until it expires.

    Only this answer contains it: the service stores its SHA-256. Its secret is after a #, so
    browsers do not send it to any server.
    """
    running = service()
    target = running.registry.get(collection)
    made = changes.make_read_link(
        running.tokens, body, collection=target.id, now=running.clock(), audit=audit
    )
    return answer(made, 201)


@blueprint.delete("/v1/collections/<collection>/links/<link_id>")
@operation(
    act="read-link-ended",
    tag="admin",
    role="admin",
    answers={204: {}},
    problems=("unknown-collection", "not-found"),
)
def end_read_link(collection: str, link_id: str, audit: AuditEntry) -> Response:
    """End a read-only link and every session that began with it, from the next request on."""
    target = service().registry.get(collection)
    changes.end_read_link(service().tokens, target.id, link_id, audit=audit)
    return Response(status=204)
