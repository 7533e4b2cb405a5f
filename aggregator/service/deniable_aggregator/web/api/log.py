"""The log over manifests, key lists and releases, for everybody to compare."""

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
    """The log's size and head, and at most 1,000 entries from index `from` on.

    The head after an entry is SHA-256(head before ‖ type ‖ body hash), at first 32 zero bytes. Key
    lists are signed over size and head; this page is not signed.
    """
    service().database.require()
    return answer(queries.log(service().store, query.first))
