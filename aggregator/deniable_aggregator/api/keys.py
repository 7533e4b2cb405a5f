"""The signed list of the keys that reports are sealed to."""

from __future__ import annotations

from flask import Blueprint, Response

from deniable_aggregator.api.operations import DSSE, operation, service

blueprint = Blueprint("keys", __name__)


@blueprint.get("/v1/keys")
@operation(tag="public", answers={200: {DSSE: ()}})
def keys() -> Response:
    """The current key list, a DSSE envelope signed by the delegated online key."""
    return Response(service().keys.key_list(), content_type=DSSE)
