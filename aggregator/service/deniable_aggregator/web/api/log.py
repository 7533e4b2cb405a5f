"""The public log of manifests, key lists and releases."""

from __future__ import annotations

from flask import Blueprint, Response

from deniable_aggregator.documents.collections import LogArguments, LogDocument
from deniable_aggregator.queries import transparency_log as queries
from deniable_aggregator.web.api.operations import operation
from deniable_aggregator.web.application import JSON, answer, service

blueprint = Blueprint("log", __name__)


@blueprint.get("/v1/log")
@operation(
    tag="public",
    query=LogArguments,
    answers={200: {JSON: (LogDocument,)}},
    problems=("unavailable",),
)
def log(query: LogArguments) -> Response:
    """The size and head of the log, and at most 1,000 entries from index `from` on.

    The head after an entry is SHA-256(head before ‖ type ‖ body hash); the first head is 32 zero
    bytes. Key lists sign size and head; this answer is not signed.
    """
    service().database.require()
    return answer(queries.log(service().store, query.first))
