"""Whether the process lives, and whether it can serve."""

from __future__ import annotations

from flask import Blueprint, Response

from deniable_aggregator.documents.collections import ReadyDocument, StatusDocument
from deniable_aggregator.queries.health import readiness_document
from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import JSON, answer, service

blueprint = Blueprint("health", __name__)


@blueprint.get("/healthz")
@operation(tag="operations", query=None, answers={200: {JSON: (StatusDocument,)}})
def healthz() -> Response:
    """The process answers."""
    return answer(StatusDocument("ok"))


@blueprint.get("/readyz")
@operation(
    tag="operations",
    query=None,
    answers={200: {JSON: (ReadyDocument,)}},
    problems=("unavailable",),
)
def readyz() -> Response:
    """Database, keys, disk and clock are as they must be; a refusal names what is not.

    `checks` says "ok" of each, or what is wrong, in both answers. `suspended` in a refusal names
    the reasons for which uploads wait until an operator acts.
    """
    return answer(readiness_document(service().readiness.check(), service().suspension.names))
