"""Whether the process lives, and whether it can serve."""

from __future__ import annotations

import logging

from flask import Blueprint, Response

from deniable_aggregator.api.documents import StatusDocument
from deniable_aggregator.api.operations import JSON, answer, operation, service
from deniable_aggregator.problem import Problem

logger = logging.getLogger(__name__)

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
    answers={200: {JSON: (StatusDocument,)}},
    problems=("unavailable",),
)
def readyz() -> Response:
    """The database answers too."""
    try:
        service().store.log_head()
    except Exception as error:  # whatever is wrong with the store, nothing can be served
        logger.exception("the store does not answer")
        raise Problem("unavailable", "the database does not answer", retry_after=5) from error
    return answer(StatusDocument("ready"))
