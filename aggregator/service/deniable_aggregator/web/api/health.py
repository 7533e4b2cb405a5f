"""Probes: whether the process runs, and whether it can serve."""

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
    """Answers 200 if the process runs."""
    return answer(StatusDocument("ok"))


@blueprint.get("/readyz")
@operation(
    tag="operations",
    query=None,
    answers={200: {JSON: (ReadyDocument,)}},
    problems=("unavailable",),
)
def readyz() -> Response:
    """Answers 200 if database, keys, disk and clock are usable; a refusal names what is not.

    In both answers `checks` has "ok" or the fault of each. `suspended` in a refusal lists the
    reasons why uploads wait until an operator acts.
    """
    return answer(readiness_document(service().readiness.check(), service().suspension.names))
