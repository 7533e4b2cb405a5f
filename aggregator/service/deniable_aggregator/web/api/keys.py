"""The signed list of the keys that encrypt reports, and making the next key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response

from deniable_aggregator.documents.collections import RotateArguments, RotatedDocument
from deniable_aggregator.keys.rotation import PENDING_SECONDS
from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import DSSE, JSON, answer, service

if TYPE_CHECKING:
    from deniable_aggregator.access.audit import AuditEntry

blueprint = Blueprint("keys", __name__)


@blueprint.get("/v1/keys")
@operation(tag="public", answers={200: {DSSE: ()}}, problems=("unavailable",))
def keys() -> Response:
    """The current key list, a DSSE envelope signed by the delegated online key."""
    service().database.require()
    return Response(service().keys.key_list(), content_type=DSSE)


@blueprint.post("/v1/keys/rotate")
@operation(
    act="key-rotated",
    tag="admin",
    role="admin",
    query=RotateArguments,
    answers={200: {JSON: (RotatedDocument,)}},
    problems=("conflict", "unavailable"),
)
def rotate_keys(query: RotateArguments, audit: AuditEntry) -> Response:
    """Make the next key of a suite. If one is pending already, return that one.

    It is listed at once and used after a day, when every replica has it; `now=true` does not wait.
    The key that it replaces opens reports until the epochs of that time are closed, and is then
    destroyed.
    """
    standing = service().rotate_key(query.suite, at_once=query.now, audit=audit)
    pending = standing.key.state == "pending"
    return answer(
        RotatedDocument(
            id=standing.key.id,
            suite=standing.key.suite,
            state="pending" if pending else "active",
            active_from=standing.since + PENDING_SECONDS * pending,
        )
    )
